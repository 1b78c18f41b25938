"""Words of one language in the script of another: Kafka, 카프카, カフカ.

The same word, not a translation: meaning is the vectors' part. Teams write these in both ways,
often in one sentence, and no rule spells them right; so a table has what developers say most. It
widens queries only, so it may grow without a new index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.keywords.words import keys, runs, tokens

# Each line: the word, then how Korean and Japanese write it.
_TABLE = """
access 액세스 アクセス
account 어카운트 アカウント
admin 어드민 アドミン
agent 에이전트 エージェント
alarm 알람 アラーム
alert 얼럿 アラート
android 안드로이드 アンドロイド
api 에이피아이
app 앱 アプリ
architecture 아키텍처 アーキテクチャ
assert 어서트 アサート
backend 백엔드 バックエンド
backup 백업 バックアップ
balancer 밸런서 バランサー
batch 배치 バッチ
benchmark 벤치마크 ベンチマーク
beta 베타 ベータ
block 블록 ブロック
branch 브랜치 ブランチ
browser 브라우저 ブラウザ
buffer 버퍼 バッファ
bug 버그 バグ
build 빌드 ビルド
button 버튼 ボタン
cache 캐시 キャッシュ
canary 카나리 カナリア
certificate 서티피킷
channel 채널 チャンネル チャネル
chart 차트 チャート
check 체크 チェック
class 클래스 クラス
client 클라이언트 クライアント
cloud 클라우드 クラウド
cluster 클러스터 クラスタ
code 코드 コード
column 컬럼 칼럼 カラム
comment 코멘트 コメント
commit 커밋 コミット
component 컴포넌트 コンポーネント
config 컨피그 コンフィグ
connection 커넥션 コネクション
container 컨테이너 コンテナ
cookie 쿠키 クッキー
copy 카피 コピー
core 코어 コア
count 카운트 カウント
crash 크래시 クラッシュ
cron 크론 クロン
dashboard 대시보드 ダッシュボード
data 데이터 データ
database 데이터베이스 データベース
deadlock 데드락 デッドロック
debug 디버그 デバッグ
default 디폴트 デフォルト
demo 데모 デモ
deploy 디플로이 デプロイ
deployment 디플로이먼트 デプロイメント
design 디자인 デザイン
docker 도커 ドッカー
domain 도메인 ドメイン
driver 드라이버 ドライバ
editor 에디터 エディタ
elasticsearch 엘라스틱서치 エラスティックサーチ
email 이메일 Eメール
engine 엔진 エンジン
enum 이넘
error 에러 エラー
event 이벤트 イベント
export 익스포트 エクスポート
feature 피처 フィーチャー
feedback 피드백 フィードバック
file 파일 ファイル
filter 필터 フィルタ
flag 플래그 フラグ
font 폰트 フォント
format 포맷 フォーマット
framework 프레임워크 フレームワーク
frontend 프론트엔드 프런트엔드 フロントエンド
gateway 게이트웨이 ゲートウェイ
git 깃 ギット
github 깃허브 깃헙 ギットハブ
gradle 그레이들
grafana 그라파나 グラファナ
graph 그래프 グラフ
graphql 그래프큐엘
guide 가이드 ガイド
handler 핸들러 ハンドラ
hash 해시 ハッシュ
header 헤더 ヘッダー
helm 헬름
hook 훅 フック
hotfix 핫픽스 ホットフィックス
image 이미지 イメージ
import 임포트 インポート
index 인덱스 インデックス
infra 인프라 インフラ
ingress 인그레스
instance 인스턴스 インスタンス
interface 인터페이스 インターフェース
issue 이슈 イシュー
java 자바 ジャバ
javascript 자바스크립트 ジャバスクリプト
jenkins 젠킨스 ジェンキンス
jira 지라
job 잡 ジョブ
kafka 카프카 カフカ
key 키 キー
kotlin 코틀린
kubernetes 쿠버네티스 クバネティス クーバネティス
label 라벨 레이블 ラベル
lambda 람다 ラムダ
layer 레이어 レイヤー
layout 레이아웃 レイアウト
leak 릭 リーク
library 라이브러리 ライブラリ
limit 리밋 リミット
link 링크 リンク
linux 리눅스 リナックス
list 리스트 リスト
load 로드 ロード
lock 락 ロック
log 로그 ログ
logging 로깅 ロギング
login 로그인 ログイン
logout 로그아웃 ログアウト
mail 메일 メール
manager 매니저 マネージャー
memory 메모리 メモリ
menu 메뉴 メニュー
merge 머지 マージ
message 메시지 메세지 メッセージ
metric 메트릭 メトリクス
metrics 메트릭 メトリクス
migration 마이그레이션 マイグレーション
mobile 모바일 モバイル
mock モック
model 모델 モデル
module 모듈 モジュール
mongodb 몽고디비 モンゴDB
monitoring 모니터링 モニタリング
mutex 뮤텍스 ミューテックス
mysql 마이에스큐엘
network 네트워크 ネットワーク
nginx 엔진엑스 エンジンエックス
node 노드 ノード
offset 오프셋 オフセット
online 온라인 オンライン
option 옵션 オプション
package 패키지 パッケージ
page 페이지 ページ
parameter 파라미터 パラメータ
parser 파서 パーサー
partition 파티션 パーティション
password 패스워드 パスワード
patch 패치 パッチ
path 패스 パス
payload 페이로드 ペイロード
pipeline 파이프라인 パイプライン
plugin 플러그인 プラグイン
pod 파드 ポッド
policy 폴리시 ポリシー
pool 풀 プール
popup 팝업 ポップアップ
port 포트 ポート
postgres 포스트그레스 ポスグレ
postgresql 포스트그레스 ポスグレ
process 프로세스 プロセス
profile 프로필 프로파일 プロファイル
project 프로젝트 プロジェクト
prometheus 프로메테우스 プロメテウス
prompt 프롬프트 プロンプト
proxy 프록시 プロキシ
push 푸시 プッシュ
python 파이썬 パイソン
query 쿼리 クエリ
queue 큐 キュー
rabbitmq 래빗엠큐
react 리액트 リアクト
redis 레디스 レディス
refactoring 리팩토링 리팩터링 リファクタリング
region 리전 リージョン
release 릴리스 릴리즈 リリース
replica 레플리카 レプリカ
report 리포트 レポート
repository 레포지토리 리포지토리 リポジトリ
request 리퀘스트 リクエスト
response 리스폰스 レスポンス
retry 리트라이 リトライ
review 리뷰 レビュー
role 롤 ロール
rollback 롤백 ロールバック
router 라우터 ルーター
rule 룰 ルール
runtime 런타임 ランタイム
sample 샘플 サンプル
scale 스케일 スケール
schedule 스케줄 スケジュール
scheduler 스케줄러 スケジューラ
schema 스키마 スキーマ
script 스크립트 スクリプト
sdk 에스디케이
search 서치 サーチ
sentry 센트리
server 서버 サーバー サーバ
service 서비스 サービス
session 세션 セッション
shard 샤드 シャード
slack 슬랙 スラック
slot 슬롯 スロット
socket 소켓 ソケット
spark 스파크 スパーク
spring 스프링 スプリング
sprint 스프린트 スプリント
stack 스택 スタック
staging 스테이징 ステージング
storage 스토리지 ストレージ
stream 스트림 ストリーム
style 스타일 スタイル
swift 스위프트 スウィフト
sync 싱크 シンク
system 시스템 システム
table 테이블 テーブル
tag 태그 タグ
task 태스크 タスク
team 팀 チーム
template 템플릿 テンプレート
terminal 터미널 ターミナル
terraform 테라폼 テラフォーム
test 테스트 テスト
text 텍스트 テキスト
theme 테마 テーマ
thread 스레드 쓰레드 スレッド
threshold 스레숄드
ticket 티켓 チケット
timeout 타임아웃 タイムアウト
token 토큰 トークン
tool 툴 ツール
topic 토픽 トピック
traffic 트래픽 トラフィック
transaction 트랜잭션 トランザクション
trigger 트리거 トリガー
type 타입 タイプ
typescript 타입스크립트 タイプスクリプト
update 업데이트 アップデート
upload 업로드 アップロード
user 유저 ユーザー ユーザ
validation 밸리데이션 バリデーション
version 버전 バージョン
view 뷰 ビュー
virtual 버추얼 バーチャル
volume 볼륨 ボリューム
web 웹 ウェブ
webhook 웹훅 ウェブフック
worker 워커 ワーカー
workflow 워크플로 워크플로우 ワークフロー
zookeeper 주키퍼
"""
_SPELLINGS: dict[str, tuple[str, ...]] = {
    word: tuple(others) for word, *others in (line.split() for line in _TABLE.strip().split("\n"))
}
_WORD_OF = {other: word for word, others in _SPELLINGS.items() for other in others}
_INSIDE = re.compile("|".join(sorted(map(re.escape, _WORD_OF), key=len, reverse=True)))
# What may follow a spelling of one syllable: it begins many other words.
_ENDINGS = frozenset(
    "은 는 이 가 을 를 의 에 로 도 만 과 와 랑 에서 으로 이랑 까지 부터 마다".split()  # noqa: SIM905
)


def also(text: str) -> Iterator[str]:
    """Other spellings of the loanwords in ``text``, as terms of a query, each once.

    One in a script without spaces is a phrase: its pairs, with spaces between them.
    """
    found: dict[str, None] = {}
    for run in runs(text):
        for said in _INSIDE.findall(run):
            if len(said) > 1 or run == said or run[len(said) :] in _ENDINGS:
                word = _WORD_OF[said]
                others = (_phrase(other) for other in _SPELLINGS[word] if other != said)
                found |= dict.fromkeys((word, *others))
    for word in dict.fromkeys(keys(text)):
        found |= dict.fromkeys(_phrase(other) for other in _SPELLINGS.get(word, ()))
    yield from found


def _phrase(word: str) -> str:
    return " ".join(tokens(word))
