"""Words that say little, by language: for telling languages apart, and to ask without them."""

STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "english": """
            a about above after again against ain't all also am an and any are aren't as at be
            because been before being below between both but by can can't could couldn't did didn't
            do does doesn't doing don't done down during each else few for from further get got had
            hadn't has hasn't have haven't having he he'd he'll he's her here hers herself him
            himself his how i i'd i'll i'm i've if in into is isn't it it'll it's its itself just
            let's many me might more most much must my myself no nor not now of off on once only or
            other our ours ourselves out over own please same shall she she'd she'll she's should
            shouldn't so some such than that that's the their theirs them themselves then there
            there's these they they'd they'll they're they've this those through to too under until
            up us very was wasn't we we'd we'll we're we've were weren't what what's when where
            which while who who's whom whose why will with won't would wouldn't you you'd you'll
            you're you've your yours yourself yourselves""",
        "german": """
            aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dem den
            denn der des die dir doch du durch ein eine einem einen einer eines er es euch für
            habe haben hat hatte hier ich ihm ihn ihr im in ist ja kann kein keine man mein mich
            mir mit nach nicht noch nur ob oder ohne schon sein seine sich sie sind so über um und
            uns unser unter vom von vor wann war waren was weil wenn wer werden wie wir wird wo
            wurde zu zum zur""",
        "french": """
            ai alors as au aussi aux avait avec avoir avons ce ces cet cette comme dans de des
            donc du elle elles en est et était être eu fait il ils je la le les leur lui ma mais
            me mes mon ne nos notre nous on ont ou où par pas pour quand que quel quelle qui sa
            sans se ses si son sont sur ta te tes ton tu un une vos votre vous""",
        "spanish": """
            a al algo ante antes como con cuál cuando de del desde donde dónde el él ella ellos en
            entre era eran es esa ese eso esta está estaba este esto fue ha hace hay la las le les
            lo los más me mi mis muy no nos o os para pero por porque qué que quién se ser si sí
            sin sobre son su sus también tiene todo tu tus un una uno y ya yo""",
        "italian": """
            abbiamo al alla alle anche che chi ci come con cosa da dal dalla degli dei del della
            delle di dove e è era gli ha hanno ho i il in io la le lei lo loro lui ma mi mia mio
            ne nel nella noi non o per perché più quale quando quello questa questo se sei si sono
            sta su sua sul sulla suo ti tra tu un una uno vi voi""",
        "portuguese": """
            a ao aos as até com como da das de dele dela depois do dos e é ela elas ele eles em
            entre era essa esse esta está este eu foi foram há isso isto já lhe mais mas me mesmo
            meu minha muito na não nas no nos nós o onde os ou para pela pelo por porque qual
            quando que quem se sem ser seu são só sua também te tem tu um uma você""",
        "dutch": """
            aan al als bij daar dan dat de deze die dit doen door een en er geen had heb hebben
            heeft het hier hij hoe hun ik in is ja je kan maar me meer met mij mijn naar niet nog
            nu of om omdat ons ook op over te tot uit van veel voor waar wanneer was wat we wel
            werd wie wij wordt zal ze zich zij zijn zo zou""",
        "swedish": """
            alla att av blev bli blir då de dem den denna deras det detta dig din dina du där efter
            eller en er ett från för ha hade han hans har hon honom hur här i icke inte jag kan man
            med men mig min mitt mot mycket ni nu när någon och om oss på sig sin ska som så till
            under upp ut var vad vara vem vi vid är""",
        "danish": """
            af alle at blev blive bliver da de dem den denne der deres det dette dig din dog du
            efter eller en end er et for fra ham han hans har havde hende hun hvad hvis hvor
            hvornår i ikke ind jeg jo kunne man med meget men mig min mod ned nogle nu når og også
            om op os over på sig skal som sådan til ud under var vi vil ville været""",
        "norwegian": """
            alle at av ble bli blir da de dem den denne der deres det dette deg din du eller en
            enn er et etter for fra før ha hadde han hans har hun hva hvem hvis hvor hvorfor i ikke
            inn jeg kan kunne man med meg men mer min mot noe noen nå når og også om opp oss over
            på seg skal skulle som så til ut var ved vi vil ville være""",
        "finnish": """
            ei eikä en että he hän ja jo joka jos kanssa kuin kun kuka me mikä minun minä missä
            mitä mutta myös ne niin nyt oli olla olen ole on ovat se sen sinä sitä tai tämä tässä
            vain voi""",
        "polish": """
            aby ale bardzo był była było być ci co czy dla do gdy gdzie go i ich ja jak jako je
            jego jej jest już kiedy kto która które który ma mnie może na nie nich niż o od on ona
            oni po pod przez przy są się tak tam te tego tej to tu ty w we wszystko z za że""",
        "turkish": """
            ama ben bir biz bu da daha de defa değil en gibi hem hep her hiç için ile ise kadar ki
            kim mı mi mu nasıl ne neden nerede niçin o olan olarak sen siz şu ve veya ya""",
        "russian": """
            а без был была были было быть в вам вас весь во вот все всё вы где да для до его ее её
            если есть ещё же за здесь и из или им их к как ко когда который кто ли мне мой мы на
            не него нет ни но о об он она они от по под при с со так там то только ты у уже что
            чтобы это этот я""",
    }.items()
}

# They say when or how something is asked rather than what: they count, but less.
WEAK_WORDS: dict[str, float] = dict.fromkeys(
    """
    day days week weeks weekend weekends month months year years hour hours ago past last next
    recent recently first earliest latest since today yesterday ever already long one two three
    four five six seven eight nine ten
    """.split(),
    0.3,
) | dict.fromkeys(
    """
    recommend recommended recommendation recommendations suggest suggested suggestion suggestions
    tip tips advice help find think thinking thought wonder wondering wanted want follow followed
    confirm remind remember mention mentioned mentioning conversation discussion discussed discuss
    talk talked tell told say said previous previously earlier going looking look back chat
    specifically specific kind kinds type types sort name names called thing things something
    anything someone able interested interesting describe explain according
    """.split(),
    0.5,
)

LANGUAGES: dict[str, tuple[str, ...]] = {}  # a stop word -> the languages that have it
for _language, _words in STOP_WORDS.items():
    for _word in _words:
        LANGUAGES[_word] = (*LANGUAGES.get(_word, ()), _language)
