"""``moot setup``: from nothing to a first answer in a chat, without a file edited by hand."""
