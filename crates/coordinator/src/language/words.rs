//! Frequent words of languages in Latin script.

/// Words of a text that are looked at.
pub(super) const MAX_WORDS_READ: usize = 2000;

/// What tells a language in Latin script from the others.
#[derive(Debug)]
pub(super) struct Profile {
    /// Its ISO 639-1 code.
    pub(super) code: &'static str,
    /// Letters that it has and most others have not.
    pub(super) letters: &'static [char],
    /// Words that are frequent in it and rare in the others.
    pub(super) words: &'static [&'static str],
}

/// The languages that are told apart by words.
pub(super) const PROFILES: [Profile; 9] = [
    Profile {
        code: "en",
        letters: &[],
        words: &[
            "the", "of", "and", "to", "is", "was", "that", "for", "it", "with", "as", "his", "her", "he",
            "she", "by", "from", "are", "were", "has", "had", "have", "which", "this", "not", "been",
            "their", "they", "who", "at", "an", "on",
        ],
    },
    Profile {
        code: "de",
        letters: &['ä', 'ö', 'ü', 'ß'],
        words: &[
            "der", "die", "das", "und", "ist", "nicht", "ein", "eine", "einer", "mit", "von", "den", "dem",
            "des", "zu", "auf", "für", "im", "als", "auch", "sich", "wurde", "war", "wird", "werden", "sie",
            "er", "bei", "aus", "nach", "sind", "hat", "wurden", "zum", "zur", "vom", "über", "durch",
            "oder", "dass", "hatte", "seine", "seit", "haben", "nur", "kann", "zwei",
        ],
    },
    Profile {
        code: "fr",
        letters: &['ê', 'œ'],
        words: &[
            "le", "la", "les", "des", "et", "est", "une", "du", "dans", "que", "qui", "pour", "pas", "sur",
            "au", "avec", "ne", "ce", "il", "elle", "sont", "été", "aux", "ses", "son", "cette", "mais",
            "ou", "nous", "par", "où",
        ],
    },
    Profile {
        code: "es",
        letters: &['ñ'],
        words: &[
            "el", "los", "las", "y", "es", "una", "del", "en", "que", "por", "con", "para", "su", "fue",
            "como", "más", "pero", "sus", "al", "lo", "se", "ha", "este", "esta", "son", "era", "también",
            "muy", "desde", "hasta", "sobre",
        ],
    },
    Profile {
        code: "it",
        letters: &[],
        words: &[
            "il", "lo", "gli", "e", "è", "che", "di", "un", "una", "per", "con", "non", "della", "del",
            "nel", "nella", "sono", "alla", "dei", "delle", "si", "come", "anche", "più", "ha", "da", "dal",
            "al", "fu", "questo", "suo",
        ],
    },
    Profile {
        code: "pt",
        letters: &['ã', 'õ'],
        words: &[
            "o", "os", "as", "e", "é", "um", "uma", "do", "da", "dos", "das", "em", "no", "na", "que", "com",
            "para", "por", "não", "se", "foi", "ao", "mais", "como", "são", "seu", "sua", "também", "pelo",
            "pela", "à",
        ],
    },
    Profile {
        code: "nl",
        letters: &[],
        words: &[
            "de", "het", "een", "en", "van", "is", "dat", "op", "te", "zijn", "met", "voor", "niet", "aan",
            "er", "om", "ook", "als", "bij", "door", "werd", "wordt", "naar", "uit", "maar", "deze", "hij",
            "zij", "heeft", "was",
        ],
    },
    Profile {
        code: "sv",
        letters: &['å'],
        words: &[
            "och", "att", "det", "som", "en", "på", "är", "av", "för", "med", "till", "den", "har", "de",
            "inte", "om", "ett", "han", "hon", "var", "från", "vid", "efter", "eller", "där", "blev", "även",
            "hade", "sig",
        ],
    },
    Profile {
        code: "pl",
        letters: &['ą', 'ć', 'ę', 'ł', 'ń', 'ś', 'ź', 'ż'],
        words: &[
            "w", "i", "na", "z", "się", "do", "nie", "jest", "to", "że", "o", "jako", "przez", "od", "był",
            "była", "oraz", "po", "za", "dla", "ze", "roku", "są", "który", "która", "było", "jego", "jej",
            "także", "został",
        ],
    },
];
