//! Frequent words of languages in Latin script.

/// Words of a text that are looked at.
pub(super) const MAX_WORDS_READ: usize = 2000;

/// Language code and words that are frequent in it and rare in the others.
pub(super) const PROFILES: [(&str, &[&str]); 9] = [
    (
        "en",
        &[
            "the", "of", "and", "to", "is", "was", "that", "for", "it", "with", "as", "his", "her", "he",
            "she", "by", "from", "are", "were", "has", "had", "have", "which", "this", "not", "been",
            "their", "they", "who", "at", "an", "on",
        ],
    ),
    (
        "de",
        &[
            "der", "die", "das", "und", "ist", "nicht", "ein", "eine", "einer", "mit", "von", "den", "dem",
            "des", "zu", "auf", "für", "im", "als", "auch", "sich", "wurde", "war", "wird", "werden", "sie",
            "er", "bei", "aus", "nach", "sind",
        ],
    ),
    (
        "fr",
        &[
            "le", "la", "les", "des", "et", "est", "une", "du", "dans", "que", "qui", "pour", "pas", "sur",
            "au", "avec", "ne", "ce", "il", "elle", "sont", "été", "aux", "ses", "son", "cette", "mais",
            "ou", "nous", "par", "où",
        ],
    ),
    (
        "es",
        &[
            "el", "los", "las", "y", "es", "una", "del", "en", "que", "por", "con", "para", "su", "fue",
            "como", "más", "pero", "sus", "al", "lo", "se", "ha", "este", "esta", "son", "era", "también",
            "muy", "desde", "hasta", "sobre",
        ],
    ),
    (
        "it",
        &[
            "il", "lo", "gli", "e", "è", "che", "di", "un", "una", "per", "con", "non", "della", "del",
            "nel", "nella", "sono", "alla", "dei", "delle", "si", "come", "anche", "più", "ha", "da", "dal",
            "al", "fu", "questo", "suo",
        ],
    ),
    (
        "pt",
        &[
            "o", "os", "as", "e", "é", "um", "uma", "do", "da", "dos", "das", "em", "no", "na", "que", "com",
            "para", "por", "não", "se", "foi", "ao", "mais", "como", "são", "seu", "sua", "também", "pelo",
            "pela", "à",
        ],
    ),
    (
        "nl",
        &[
            "de", "het", "een", "en", "van", "is", "in", "dat", "op", "te", "zijn", "met", "voor", "niet",
            "aan", "er", "om", "ook", "als", "bij", "door", "werd", "wordt", "naar", "uit", "maar", "deze",
            "hij", "zij", "heeft", "was",
        ],
    ),
    (
        "sv",
        &[
            "och", "att", "det", "som", "en", "på", "är", "av", "för", "med", "till", "den", "har", "de",
            "inte", "om", "ett", "han", "hon", "var", "från", "vid", "efter", "eller", "där", "blev", "även",
            "hade", "sig",
        ],
    ),
    (
        "pl",
        &[
            "w", "i", "na", "z", "się", "do", "nie", "jest", "to", "że", "o", "jako", "przez", "od", "był",
            "była", "oraz", "po", "za", "dla", "ze", "roku", "są", "który", "która", "było", "jego", "jej",
            "także", "został",
        ],
    ),
];
