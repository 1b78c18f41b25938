"""What a team says all day: lines in seven languages that share words with every question.

Made of templates and the nouns of ``benchmarks/data/korean.tsv``: plans, thanks, questions, small
reports. None of them says what one of its questions asks for. The same for the same seed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

SHARES = {"ko": 64, "ja": 10, "zh": 10, "id": 6, "vi": 3, "th": 2, "en": 5}

NOUNS = {
    "ko": "인증|토큰|만료 시간|결제|결제 취소|배포|롤백|캐시|검색 색인|로그|보관 기간|"
    "새벽 알림|커넥션 풀|"
    "이미지 업로드|용량 제한|개인정보|마스킹|테스트|스테이징 서버|코드 리뷰|메시지 순서|장애|"
    "대시보드|모니터링|"
    "휴면 계정|환불 금액|앱 버전|큐|디자인 시안|번역 파일|백업|비밀번호 규칙|엑셀 다운로드|"
    "배치|이벤트 수신|"
    "지도 타일|운영 디비|신규 계정|재고 수량|푸시 알림|성능 측정|첨부 파일|회의록|약관 동의|"
    "소셜 로그인|스키마|"
    "요금제|채팅 서버|동영상 재생|에러 코드|관리자 화면|느린 쿼리|쿠폰|서버 시간|배송 조회|"
    "앱 심사|분석용 테이블|"
    "접근성|클라우드 비용|도메인 인증서|추천 결과|피처 플래그|모바일 폰트|고객 문의|자동 완성|"
    "사내 위키|주소 검색|"
    "카나리 배포|탈퇴한 사용자|오프라인 저장|통계 화면|메일 발송|외주 권한|락|온보딩|음성 인식|"
    "파일 이름|광고 배너|"
    "카프카 파티션|레디스 메모리|쿠버네티스|도커 이미지|젠킨스|엘라스틱서치 샤드|센트리 알람|"
    "타임아웃|온콜|러너",
    "ja": "認証|トークン|決済|デプロイ|リリース|キャッシュ|ログ|保存期間|テスト|パーティション|"
    "サーバー|証明書|"
    "画像|アップロード|インデックス|管理画面|アクセス制限|在庫|コードレビュー|バックアップ|"
    "通知|検索",
    "zh": "认证|令牌|支付|发布|上线|缓存|日志|连接池|数据库|单元测试|证书|库存|合并请求|备份|"
    "通知|搜索|扣款|审批",
    "id": "autentikasi|token|pembayaran|rilis|log akses|tembolok|pengujian|sertifikat|stok|"
    "cadangan|"
    "penggabungan kode|notifikasi|pencarian",
    "vi": "xác thực|thanh toán|bản phát hành|bộ nhớ đệm|nhật ký|kiểm thử|chứng chỉ|kho hàng|"
    "bản sao lưu|thông báo",
    "th": "การยืนยันตัวตน|การชำระเงิน|บันทึก|แคช|การทดสอบ|ใบรับรอง|การแจ้งเตือน|เวอร์ชันใหม่",
    "en": "authentication|token|payment|deploy|rollback|cache|index|log|alert|pool|backup|"
    "schema|queue",
}
# What else there is to talk about: areas and their things, put together.
AREAS = {
    "ko": "주문|장바구니|정산|회원 등급|적립금|리뷰 작성|상품 상세|판매자|물류|창고|반품|교환|"
    "구독|쿠키 동의|지점|"
    "예약|좌석|공지|게시판|댓글|팔로우|차단|신고|랭킹|배지|포인트|선물하기|위시리스트|카테고리|"
    "필터|정렬|찜|"
    "문진표|진료|처방|강의|과제|시험|출석|급여|휴가|결재|전자 서명|계약|견적|세금 계산서|"
    "영수증|환율|송금|대출",
    "ja": "注文|カート|精算|会員|ポイント|商品|倉庫|返品|予約|座席|お知らせ|掲示板|コメント|"
    "ランキング|講義|給与",
    "zh": "订单|购物车|结算|会员|积分|商品|仓库|退货|预约|座位|公告|评论|排行|课程|工资|合同",
    "id": "pesanan|keranjang|anggota|poin|barang|gudang|retur|reservasi|pengumuman|komentar|"
    "kelas|gaji",
    "vi": "đơn hàng|giỏ hàng|hội viên|điểm|kho|đặt chỗ|bình luận|lớp học|lương",
    "th": "คำสั่งซื้อ|ตะกร้า|สมาชิก|คะแนน|คลัง|การจอง|ความคิดเห็น|เงินเดือน",
    "en": "order|cart|member|points|catalog|warehouse|booking|comment|course|payroll",
}
THINGS = {
    "ko": "화면|목록|팝업|문구|아이콘|버튼|색상|모달|탭|흐름|명세|초안|견본|설문|표|양식|링크|"
    "주소록|첫 화면|하단 메뉴|"
    "안내문|체크리스트|일정표|로드맵|지표|그래프|시나리오|데모|발표 자료|번들|모듈|라이브러리|"
    "어댑터|훅|핸들러",
    "ja": "画面|一覧|文言|ボタン|資料|仕様|デモ|アンケート|表|モジュール",
    "zh": "页面|列表|文案|按钮|资料|说明|演示|问卷|表格|模块",
    "id": "layar|daftar|teks|tombol|bahan|spesifikasi|demo|survei|tabel|modul",
    "vi": "màn hình|danh sách|nút|tài liệu|bảng|mô-đun",
    "th": "หน้าจอ|รายการ|ปุ่ม|เอกสาร|ตาราง|โมดูล",
    "en": "screen|list|button|draft|survey|table|module",
}
SHARED = 0.2  # of the nouns are those that the questions have, too,
AT_MOST = 3  # each in so many lines
NAMES = "민수 지은 태호 서연 준호 하은 도윤 유진 현우 소라".split()  # noqa: SIM905
DAYS = {
    "ko": "월요일|화요일|수요일|목요일|내일 오전|다음 주|퇴근 전|점심 뒤",
    "ja": "月曜|火曜|水曜|木曜|明日の午前|来週",
    "zh": "周一|周二|周三|周四|明天上午|下周",
    "id": "Senin|Selasa|Rabu|Kamis|besok pagi|minggu depan",
    "vi": "thứ hai|thứ ba|thứ tư|sáng mai|tuần sau",
    "th": "วันจันทร์|วันอังคาร|วันพุธ|พรุ่งนี้เช้า",
    "en": "Monday|Tuesday|Wednesday|tomorrow|next week",
}
# {n}, {m}: nouns, with the particle that fits; {k}: a number; {d}: a day; {w}: a person.
LINES = {
    "ko": """
{n} 쪽 PR 올려 두었으니 시간 될 때 봐 주세요 #{k}
{w} 님, {n:을} {d}에 확인해 주실 수 있을까요?
{n} 관련해서 {d}에 잠깐 이야기하면 좋겠어요
{n:은} {w} 님이 보고 있어요, {k}분쯤 더 필요하대요
방금 {n} 문서에서 오타를 {k}군데 고쳤습니다
{n} 작업은 {m} 다음에 시작할게요
{n:와} {m} 중에 뭐부터 할까요?
{n} 이야기는 스레드에서 이어 갑시다
{n} 건수가 어제보다 {k}건 늘었네요, 지켜보겠습니다
{n} 문제로 문의가 {k}건 들어왔어요. 아직 원인은 모릅니다
{n} 방식은 {d}에 정하기로 하고 넘어가죠
{n} 이유를 아는 분 계신가요? 기록이 안 보이네요
{n} 담당이 바뀐다는 말이 있던데 확정은 아닙니다
{n} 회의는 {d}로 미뤄졌어요, 참석자 {k}명입니다
{w} 님이 {n:을} 다시 살펴보자고 하셨어요
{n:이} 왜 그런지 저도 궁금합니다
{n} 기준을 누가 정했는지 모르겠어요, {w} 님은 아실까요?
{n} 변경 사항은 제가 {d} 정리해서 공유할게요
오늘 {n} 점검 끝났고 특이 사항은 없었습니다 ({k}건 확인)
{n} 티켓을 {k}번으로 합쳤어요, 중복이라서요
{n} 얘기가 나온 김에 {m:도} 같이 보면 어때요?
{n} 화면 캡처 {k}장 첨부했습니다
{n:은} 이번 스프린트에서 빼고 {m:을} 넣죠
{n} 테스트 케이스를 {k}개 더 적어 두었어요
{n} 때문에 {w} 님이 늦게까지 남으셨네요, 고생하셨어요
{n} 문의는 이 채널 말고 {m} 채널에 올려 주세요
{n} 처리하는 방법을 모르면 {w} 님께 물어보세요
{n:을} 언제 하느냐가 관건이에요. 일정은 {d} 다시 잡읍시다
{n} 설정이 서버마다 다른 것 같은데 착각일 수도 있어요
{n} 회고 자료에 {m} 항목이 빠졌네요, 추가할게요
""",
    "ja": """
{n}のPRを出しました、時間のあるときに見てください #{k}
{n}については{d}に少し話しましょう
{n}の件で問い合わせが{k}件ありました。原因はまだ分かりません
{n}と{m}のどちらを先にやりますか
{n}の資料を{d}までにまとめます
{n}の理由を知っている人はいますか、記録が見つかりません
{n}の打ち合わせは{d}に延期です、参加者は{k}人
今日の{n}の確認は終わりました、問題はありません（{k}件）
{n}のチケットを{k}番にまとめました
{n}の方法は{d}に決めましょう
""",
    "zh": """
{n}的PR已经提交，有空帮忙看一下 #{k}
关于{n}，{d}简单聊一下吧
{n}收到{k}个反馈，原因还不清楚
{n}和{m}先做哪一个？
{n}的文档我{d}整理好
有人知道{n}的原因吗？找不到记录
{n}的会议改到{d}，一共{k}个人
今天{n}检查完了，没有异常（{k}项）
{n}的任务合并到{k}号了
{n}的方式{d}再定
""",
    "id": """
PR untuk {n} sudah saya buka, tolong dilihat #{k}
Soal {n}, kita bicara sebentar hari {d}
Ada {k} laporan tentang {n}, penyebabnya belum jelas
{n} atau {m} dulu yang dikerjakan?
Ada yang tahu kenapa {n} begitu? Catatannya tidak ketemu
Rapat {n} diundur ke {d}, pesertanya {k} orang
Hari ini {n} sudah dicek, {k} butir, aman
Cara {n} kita putuskan {d} saja
""",
    "vi": """
PR cho {n} đã mở, mọi người xem giúp #{k}
Về {n}, mình nói chuyện vào {d} nhé
Có {k} phản hồi về {n}, chưa rõ nguyên nhân
Làm {n} hay {m} trước?
Họp về {n} dời sang {d}, có {k} người
Hôm nay đã kiểm tra {n}, {k} mục, không có gì lạ
""",
    "th": """
เปิด PR ของ{n}แล้ว ช่วยดูหน่อย #{k}
เรื่อง{n} คุยกัน{d}นะ
มีคนถามเรื่อง{n} {k} ครั้ง ยังไม่รู้สาเหตุ
ทำ{n}หรือ{m}ก่อนดี
ประชุมเรื่อง{n}เลื่อนไป{d} มี {k} คน
ตรวจ{n}แล้ววันนี้ {k} รายการ ปกติดี
""",
    "en": """
I opened a PR for the {n} work, please have a look #{k}
Let us talk about {n} on {d}
We got {k} reports about {n}, no idea yet why
Should we do {n} or {m} first?
Does anybody know the reason for the {n} thing? I cannot find it
The {n} meeting moved to {d}, {k} people
Checked {n} today, {k} items, nothing odd
How we do {n} is to be decided on {d}
""",
}
_PARTICLES = {"을": "을를", "은": "은는", "이": "이가", "와": "과와", "도": "도도"}


class _Noun(str):
    """A Korean noun that takes its particle: ``{n:을}`` is 을 or 를."""

    __slots__ = ()

    def __format__(self, particle: str) -> str:
        if not particle:
            return str(self)
        closed = "가" <= self[-1] <= "힣" and (ord(self[-1]) - ord("가")) % 28 > 0
        return f"{self}{_PARTICLES[particle][0 if closed else 1]}"


def chatter(count: int, seed: int = 20, at_most: int = AT_MOST) -> list[str]:
    """``count`` different lines, the languages mixed in their shares.

    ``at_most``: lines that hold one noun of the questions.
    """
    dice = random.Random(seed)
    lines = {language: text.strip().split("\n") for language, text in LINES.items()}
    shared = {language: set(nouns.split("|")) for language, nouns in NOUNS.items()}
    said: Counter[str] = Counter()
    made: dict[str, None] = {}
    for language in _languages(dice):
        if len(made) == count:
            break
        n, m = _noun(dice, language), _noun(dice, language)
        day = dice.choice(DAYS[language].split("|"))
        number = dice.randint(2, 999)
        line = dice.choice(lines[language])
        asked = {noun for noun in (n, m) if noun in shared[language]}
        if any(said[noun] >= at_most for noun in asked):
            continue
        said.update(asked)
        made[line.format(n=n, m=m, k=number, d=day, w=dice.choice(NAMES))] = None
    return list(made)


def _noun(dice: random.Random, language: str) -> _Noun:
    if dice.random() < SHARED:
        return _Noun(dice.choice(NOUNS[language].split("|")))
    parts = [dice.choice(words[language].split("|")) for words in (AREAS, THINGS)]
    glue = "" if language in ("ja", "zh", "th") else " "
    return _Noun(glue.join(parts if language not in ("id", "vi", "th") else parts[::-1]))


def _languages(dice: random.Random) -> Iterator[str]:
    while True:
        yield from dice.choices(list(SHARES), weights=list(SHARES.values()), k=100)
