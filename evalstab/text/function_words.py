"""Small words that only running text has: what tells a sentence from a list of terms."""

_WORDS = {
    "cs": "a aby ale ani být do je jeho jej jen její jsem jsou již k který která které kde když"
    " mezi může na nebo ne není o od pak po podle pokud pro proto před při s se si tak také tato"
    " tedy ten tento to tom už v ve však z za že",
    "de": "aber als am auch auf aus bei bis das dass dem den der des die diese dieser doch durch"
    " ein eine einem einen einer es für hat ich im in ist kann man mit nach nicht noch nur oder"
    " sein sich sie sind so über um und von vor war was wenn werden wie wird wir zu zum zur",
    "en": "about after all also and any are as at be because been but by can could did do does"
    " for from had has have he her his how if into is it its just let like may me more must my"
    " no not now of on only or other our out she should so some such than that the their them"
    " then there these they this those to too under up was we were what when where which while"
    " who will with would you your",
    "da": "af alle at blev bliver da de den der deres det dette efter eller en er et for fra før"
    " han har hvad hvis hvor i ikke ind jeg kan kun man med men mere nu når og også om op over på"
    " sig skal som så til ud under var ved vi vil være",
    "es": "al como con cuando de del desde donde el ella en entre es esta este está fue ha hasta"
    " la las le lo los más me mi muy no o para pero por porque que se ser si sin sobre son su sus"
    " también tiene un una y ya",
    "fr": "au aux avec ce ces cette comme dans de des donc du elle en est et il ils je la le les"
    " leur lui mais même ne nous on ont ou par pas plus pour qu que qui sa sans se ses si son sont"
    " sur tous tout très un une vous à été être",
    "hu": "a az azt és egy ez ezt fel ha hogy is kell ki le lehet már meg mint most nem van vagy"
    " volt új után által amely aki csak de ezek még",
    "it": "a al alla anche che ci come con da dal dalla dei del della delle di e ed gli ha il in"
    " la le lo ma nel nella nelle non o per perché più quando questa questo se si sia sono su sua"
    " suo tra un una uno è",
    "nl": "aan al alle als bij dan dat de deze die dit door een en er geen gebruikt het hij hoe"
    " ik in is kan maar me meer met moet na naar niet nog nu of om onder ook op over te tot uit"
    " van voor was wat we wel werd wordt worden ze zich zijn zo zoals",
    "no": "av alle at ble blir da de den der det dette eller en er et etter for fra før ha han har"
    " hva hvis hvor i ikke jeg kan kun man med men mer nå når og også om opp over på seg skal som"
    " så til under ut var ved vi vil være",
    "pl": "a aby albo ale bez być co czy dla do gdy i ich jak jako jest jeśli już każdy który"
    " która które lub ma może można na nad nie niż o od oraz po pod przez przy są się tak także"
    " tego ten to tylko tym w we z za że",
    "pt": "a ao aos as com como da das de do dos e ela ele em entre era essa este foi isso já mais"
    " mas muito na nas não no nos o os ou para pela pelo por quando que se sem ser seu sua são"
    " também tem um uma à é",
    "ro": "a al ale am ar are au ca care ce cu că când de din dar după este fi fost iar în la mai"
    " nu o pe pentru prin sau se si sunt un unde unei unui va și să",
    "sv": "alla att av bara blir den denna det dig din där efter ej eller en ett finns för från ha"
    " han har här i inte kan med men mer nu när och också om på sig ska skall som så till under ut"
    " utan var vi vid vill är över",
    "tr": "ama ancak bir bu böyle çok da daha de değil diye en gibi göre hem her için ile ise"
    " kadar ki mi mı ne o olan olarak oldu olduğu olur sonra şu ve veya ya",
    "ru": "а без более был была были было быть в во вы где да для до его ее если есть же за и из"
    " или их к как когда который ли может можно на над не нет но о об он она они от по при с со"
    " так также то только том у что чтобы это этот я",
    "uk": "а або але без більше був була було бути в вже ви від вона вони він де для до є же за з"
    " зі і із й його її їх коли на над не ні але о об однак при про та так також те ти то тому у"
    " цей це ця чи що щоб як якщо який я",
}
_SETS = {tag: frozenset(words.split()) for tag, words in _WORDS.items()}


def function_words(words: tuple[str, ...], language: str) -> int | None:
    """How many of the words are function words of a language; None where it has no list.

    Elided forms count by their first part: "l'expérience" is no function word, "qu'il" is.
    """
    known = _SETS.get(language)
    if known is None:
        return None
    return sum(word.casefold().replace("’", "'").split("'")[0] in known for word in words)
