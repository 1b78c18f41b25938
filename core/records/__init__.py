"""Records: what Moot must not forget, as peewee rows. The only rooms that know SQL."""
