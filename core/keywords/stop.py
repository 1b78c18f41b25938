"""Words that say nothing about what a question is about, in the languages that teams asked in.

How common any other word is, the index tells. Not among them: negations, for they are what matters,
and words of one language that are names or terms in another (``ai``, ``die``, ``dan``).
"""

from __future__ import annotations

from core.keywords.words import tokens

_STOP = """
a an and are as at be been being but by can could did do does doing done for from get give gave
got had has have having how i if in into is it its just know me my of on or our out
please say said should so some tell than that the their them then there these they this those
thing things to us use used using was we were what when where which who whom whose why will with
would you your about am any anyone anybody he her hers him his remember she something someone
somebody think very

adalah agar akan apa apakah atau bagaimana bisa buat dari dengan di dong harus hal ini itu
juga jadi kalau kami kapan kah ke kenapa kita kok lah mana mau mengapa nya oleh pada para saja
saat saya sih siapa soal sudah tentang tolong untuk waktu yang ya

aber als am auf aus bei bitte da das dass dem den der des doch ein eine einem einen einer er
für hat haben hatten ich ihr im ist mal noch sich sie sind und von waren warum was
welche welcher welches wenn wer werden wie wieso wir wird wo wurde zu zum zur au aux avec ce ces
cette comment dans du elle elles en est et étaient était il ils je la le les leur mais mes nous on
ou où par pour pourquoi qu quand que quel quelle quelles qui quoi sa se ses son sont sur un une
vous como con cual cuál cuando cuándo cómo de del donde dónde e el ella em era esta está este lo
los las nos o os para por porque porqué pero qué quem quien quién si su sus te um uma una y
onde quais qual quando в во где для до его если есть и из или их к как какой когда кто мы на о об
он она они по почему при с со так там то у что чтобы это я

bằng bởi các cái cho chúng của cùng cũng đã đang đâu để đến đó được gì hay khi là lại làm mà
mình này nào nên như những ở ra rồi sao sẽ ta thì thế từ trong tôi và vào về vì với

في من على إلى عن هل ما ماذا متى أين كيف لماذا هذا هذه ذلك التي الذي كان كانت أن أو مع ثم قد كل של
את על עם אל זה זו הוא היא הם מה מי מתי איפה איך למה כן אם או גם כי היה היתה אני אנחנו का की के में
है हैं को से पर और क्या कब कहाँ कैसे क्यों कौन यह वह ये वे था थे थी ने भी हो कर

년 월 일 몇 은 는 이 가 을 를 의 에 로 와 과 도 만 좀 왜 그 저 것 거 수 때 및 등 더 나 너 요 듯 들
니다 습니 입니 합니 됩니 세요 에요 예요 어요 아요 해요 나요 는지 인가 인지 까요 할까 을까 데요
군요 네요 지요 했어 했나 했는 했지 했던 하는 하나 하면 하려 하기 해서 해야 해줘 된다 되는 되나
됐나 됐어 됐지 됐는 었어 았어 였어 였지 었지 았지 었나 았나 였나 있어 있나 있는 있었 있던 인데
는데 은데 던데 런데 거야 거예 건가 것은 것을 것이 으로 에서 에게 한테 부터 까지 이랑 라고 다고
이라 어디 언제 언젠 누가 누구 무엇 무슨 뭐가 뭐였 뭐야 뭐지 뭔가 뭘로 어떤 어떻 떻게 어느 그거
그게 이거 이게 저거 우리 저희 제가 내가 그때 지난 관련 관해 대해 대한 위해 위한 알려 려줘 려주
주세 말한 말했 です ます した する して とは には ので から でし でした ました ませ ため こと もの
この その あの どの どう だっ った たの たっ のか んで なん なに 何で 何を 何が 誰が 誰の どこ
いつ ある いる のは のが のを について は が を に の と で も や か よ ね へ 年 月 日 的 了 是 我
你 他 她 们 在 吗 呢 吧 啊 就 都 和 与 及 把 被 给 对 从 到 我们 你们 他们 什么 怎么 怎样 为什
哪里 哪个 哪些 多少 谁的 这个 那个 这些 那些 时候 请问 一下 可以 如何 是什 么时
"""
STOP_WORDS = frozenset(token for word in _STOP.split() for token in tokens(word))
