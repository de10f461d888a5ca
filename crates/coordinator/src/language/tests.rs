use super::*;

const EN: &str = "Marie Curie was born in Warsaw and she was the first woman to win a Nobel Prize, which she shared with her husband.";
const DE: &str = "Marie Curie wurde in Warschau geboren und war die erste Frau, die einen Nobelpreis erhielt, den sie mit ihrem Mann teilte.";
const FR: &str = "Marie Curie est née à Varsovie et elle est la première femme qui a reçu le prix Nobel avec son mari dans une cérémonie.";
const ES: &str = "Marie Curie nació en Varsovia y fue la primera mujer que ganó el premio Nobel con su marido en una ceremonia.";
const IT: &str = "Marie Curie è nata a Varsavia ed è la prima donna che ha vinto il premio Nobel con il marito nella cerimonia.";
const PT: &str = "Marie Curie nasceu em Varsóvia e foi a primeira mulher que ganhou o prêmio Nobel com o marido na cerimônia.";
const NL: &str = "Marie Curie werd geboren in Warschau en was de eerste vrouw die een Nobelprijs won, die zij deelde met haar man.";
const RU: &str = "Мария Кюри родилась в Варшаве и была первой женщиной.";
const JA: &str = "マリー・キュリーはワルシャワで生まれた最初の女性です。";
const ZH: &str = "玛丽居里出生于华沙她是第一位获得诺贝尔奖的女性";

#[test]
fn whole_sentences_are_told_apart() {
    let expected = [(EN, "en"), (DE, "de"), (FR, "fr"), (ES, "es"), (IT, "it"), (PT, "pt"), (NL, "nl")];
    for (text, language) in expected {
        assert_eq!(guess(text), Some(Language::Latin(language)), "{text}");
    }
    for (text, script) in [(RU, "cyrillic"), (JA, "kana"), (ZH, "han")] {
        assert_eq!(guess(text), Some(Language::Script(script)), "{text}");
    }
}

#[test]
fn short_and_mixed_texts_get_no_guess() {
    for text in [
        "",
        "42",
        "Paris",
        "E = mc²",
        "Anna Schmidt, Jean Dupont, Juan García",
        "να και και Tokyo Kyoto Osaka",
    ] {
        assert_eq!(guess(text), None, "{text}");
    }
}

#[test]
fn a_response_is_foreign_only_to_sources_that_are_all_surely_in_another_language() {
    assert!(is_foreign(EN, [DE]));
    assert!(is_foreign(EN, [DE, RU]));
    assert!(is_foreign(ZH, [JA]));
    assert!(!is_foreign(EN, [EN]));
    assert!(!is_foreign(EN, [DE, EN]), "one source in the same language is enough");
    assert!(!is_foreign(EN, [DE, "Paris"]), "an unsure source may be in the same language");
    assert!(!is_foreign("Paris", [DE]));
    assert!(!is_foreign(EN, ["12 34"]));
    assert!(!is_foreign(EN, []));
}

#[test]
fn one_short_sentence_is_told_by_a_large_share_of_its_words_and_letters() {
    for text in [
        "Die Brücke wurde 1937 eröffnet.",
        "Der Turm ist 324 Meter hoch.",
        "Berlin hat seit 1990 mehr Brücken.",
        "Sie wurde 1879 in Ulm geboren.",
    ] {
        assert_eq!(guess(text), Some(Language::Latin("de")), "{text}");
    }
    assert!(is_foreign("Die Brücke wurde 1937 eröffnet.", [EN]));
}

#[test]
fn foreign_names_in_english_text_do_not_make_it_foreign() {
    for text in [
        "Gerhard Schröder met Jürgen Müller in Düsseldorf.",
        "Der Spiegel interviewed Angela Merkel.",
        "Die Zeit reported twice.",
        "Los Angeles, Las Vegas, El Paso",
        "Vincent van der Waals died.",
        "Charles de Gaulle met Simone de Beauvoir.",
        "Maria da Silva dos Santos sang.",
        "José de la Cruz del Valle sang.",
        "Günter Grass wrote Die Blechtrommel und Der Butt.",
        "Søren, Åsa and Łukasz visited Gdańsk, Malmö and Zürich.",
        "The naïve façade of an über café was never finished.",
    ] {
        let found = guess(text);
        assert!(matches!(found, None | Some(Language::Latin("en"))), "{text} is taken for {found:?}");
        assert!(!is_foreign(text, [EN]), "{text}");
    }
}
