use super::*;

/// A hash over all that a version says.
fn fingerprint(prompt: &Prompt, schema: Option<AnswerSchema>) -> String {
    let schema = schema.map(|schema| schema.schema.to_string()).unwrap_or_default();
    let text = [prompt.system.as_deref().unwrap_or("-"), &prompt.user, &schema].join("\u{1}");
    blake3::hash(text.as_bytes()).to_hex()[..12].to_owned()
}

#[test]
fn the_words_of_a_version_do_not_change() {
    let found = [
        (VERDICT_PROMPT, fingerprint(&verdict(&["s", "t"], "c", Some("q"), "n"), Some(verdict_schema()))),
        (FACTS_PROMPT, fingerprint(&facts("t", Some("c"), "n"), Some(facts_schema()))),
        (SELFCHECK_PROMPT, fingerprint(&selfcheck("s", "x\ny", "n"), None)),
        (SELFCHECK_REFERENCE_PROMPT, fingerprint(&selfcheck_reference("s", "x\ny"), None)),
    ];
    // A version whose words change gets a new number and a new line here.
    let expected = [
        ("verdict/1", "0b0c62f00a9f"),
        ("facts/1", "89db93364d25"),
        ("selfcheck/1", "d2809bc6561e"),
        ("selfcheck/reference", "689541d7edc0"),
    ];
    assert_eq!(found.each_ref().map(|(version, hash)| (*version, hash.as_str())), expected);
}

#[test]
fn selfchecks_reference_prompt_is_that_of_the_paper() {
    let prompt = selfcheck_reference("He was born in 1867.", "He was\nborn in 1867.");
    assert_eq!(prompt.system, None);
    assert_eq!(
        prompt.user,
        "Context: He was born in 1867.\n\nSentence: He was born in 1867.\n\nIs the sentence supported by the context \
         above? Answer Yes or No.\n\nAnswer: "
    );
}

#[test]
fn the_system_message_is_the_same_for_every_question_so_that_backends_can_cache_it() {
    let (one, other) = (verdict(&["a"], "b", None, "1"), verdict(&["c", "d"], "e", Some("f"), "2"));
    assert_eq!(one.system, other.system);
}

#[test]
fn every_text_stands_between_its_fences() {
    let prompt = verdict(&["one", "two"], "claim", Some("why"), "77");
    for part in [
        "<<<SOURCE 77\none\nSOURCE 77>>>\n<<<SOURCE 77\ntwo\nSOURCE 77>>>\n",
        "<<<QUESTION 77\nwhy\nQUESTION 77>>>\n",
        "<<<CLAIM 77\nclaim\nCLAIM 77>>>\n",
    ] {
        assert!(prompt.user.contains(part), "{}", prompt.user);
    }
}

#[test]
fn the_task_is_told_again_behind_the_data() {
    for prompt in [verdict(&["s"], "c", None, "n"), facts("t", None, "n"), selfcheck("s", "x", "n")] {
        let end = prompt.user.rfind(">>>").unwrap();
        assert!(prompt.user[end..].contains("Answer"), "{}", prompt.user);
    }
}
