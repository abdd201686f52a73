"""The signs of an injection in German, French, Spanish, Italian, Portuguese, Russian and CJK."""

from __future__ import annotations

from wakebook.derive.sift.cues import IN, Cue, cue

ABROAD: tuple[Cue, ...] = (
    cue(
        "override",
        "ignor|verg|missach|überspring|oubli|négli|negli|compte|olvid|descart|omiso|dimentica|esque"
        "|忽|无|忘|不|игнор|забудь|無",
        r"\b(?:ignorier\w*|vergiss|vergesst|vergessen sie|missachte\w*|überspring\w*)\b(?!\s+"
        r"(?:bitte )?nicht)(?:\W+\w+){0,4}?\W+(?:anweisung\w*|instruktion\w*|vorgaben|befehle?"
        r"|systemprompt|richtlinien)\b",
        r"\b(?:ignore[rz]?|oublie[rz]?|n[ée]glige[rz]?|ne (?:tiens|tenez) pas compte)\b"
        r"(?:\W+\w+){0,2}?\W+(?:toutes|tous|les?|la|l|tes|vos|ces|des|aux?)(?:\W+\w+){0,3}?\W+"
        r"(?:instructions?|consignes?|directives?|ordres)\b",
        r"\b(?:ignor[ae]n?|olvid[ae]n?|descart[ae]n?|(?:haz|hagan?) caso omiso)\b"
        r"(?:\W+\w+){0,4}?\W+(?:instrucci(?:ones|ón)|indicaciones|directrices|órdenes)\b",
        r"\b(?:ignor[aei]\w*|dimentica|esque[çc]a)\b(?:\W+\w+){0,4}?\W+(?:istruzioni"
        r"|instru[çc][õo]es)\b",
        r"(?:忽略|无视|忘记|忘掉|不要理会|不理会|忽視|無視|忘記).{0,10}(?:指令|指示|规则|規則|提示|说明|命令)",
        r"(?:игнорируй\w*|забудь\w*)(?:\W+\w+){0,4}?\W+(?:инструкц\w+|указани\w+)",
        r"(?:指示|命令|プロンプト)[^。\n]{0,6}(?:無視|忘れ)",
        points=(2, 2, 2),
    ),
    cue(
        "address abroad",
        " ki| sprachmo| assistent| ia| asistente| model|助手|代理|模型|系统|aux "
        "assistant|des assistant|les assistant",
        r"\b(?:an|für|hinweis an|achtung)\s+(?:alle |die |den |das )*(?:KI\b|KI-\w+"
        r"|sprachmodelle?|assistenten)",
        r"\b(?:à l'attention des?|note aux?|pour les?|aux?)\s+(?:IA\b|assistants?\b"
        r"|modèles? de langage)",
        r"\b(?:para|a|nota para)\s+(?:las? |los? |el |todas? )*(?:IA\b|asistentes? (?:de IA"
        r"|virtual)|modelos? de lenguaje)",
        r"(?:致|给|請|请)?(?:所有)?(?:AI|人工智能|智能|语言模型|大模型)(?:助手|代理|模型|系统)",
        points=(1, 2, 2),
    ),
    cue(
        "memory abroad",
        "nutzer|dass d|utilisat|usuari|用|使用者|пользоват",
        r"\b(?:speicher\w*|notier\w*|vermerk\w*|merke?n? (?:dir|sie sich)"
        rf"|trag\w*)\b{IN}{{0,50}}?\bdass (?:der|die) (?:benutzer(?:in)?|nutzer(?:in)?|user)\b",
        r"\b(?:enregistre[rz]?|note[rz]?|mémorise[rz]?|retene?[zr]|retiens"
        rf"|sauvegarde[rz]?)\b{IN}{{0,50}}?\bque l'utilisat(?:eur|rice)\b",
        r"\b(?:registr[ae]|guard[ae]|anot[ae]|recuerd[ae]|memori[cz][ae]"
        rf"|almacen[ae])\w*\b{IN}{{0,50}}?\bque (?:el usuario|la usuaria)\b",
        r"(?:记录|记住|保存|写入|添加|存储|記錄|記住|储存).{0,12}(?:用户|使用者|用戶)",
        r"\bзапомни\w*\b[^.!?\n]{0,30}\bпользовател",
        points=(2, 2, 2),
    ),
)
