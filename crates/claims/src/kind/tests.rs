use super::*;

#[test]
fn the_word_list_is_in_order() {
    assert!(VERBS.is_sorted());
}

#[test]
fn thanks_and_lead_ins_with_a_fact_in_them_are_statements() {
    for text in [
        "Thanks to Marie Curie, radium is known.",
        "Here is the tower that was built in 1889.",
        "Thank you for the 3 cats, which came in 1903.",
        "Sure, it is 330 m tall.",
        "Hello to all the people of Paris who are reading.",
        "I'm sorry to say that Paris is in Italy.",
    ] {
        assert_eq!(of_sentence(text), ClaimKind::Statement, "{text}");
    }
}

#[test]
fn pleasantries_are_known_with_any_apostrophe_and_sign() {
    for text in [
        "Hello John!",
        "You’re welcome! 😊",
        "Thank you for your question!",
        "Here’s a summary:",
        "Feel free to ask.",
        "I’m sorry, but I cannot answer that.",
        "If you have any questions, just ask!",
        "Would you like me to go on?",
    ] {
        assert_eq!(of_sentence(text), ClaimKind::Pleasantry, "{text}");
    }
}
