use super::check;

#[test]
fn inline_markup_is_no_text() {
    check(&[
        ("He won **999** votes.", &[("S", "He won 999 votes.", "He won **999** votes.")]),
        ("**He** won.", &[("S", "He won.", "He** won.")]),
        (
            "See [the *tower*](https://a.b/c_(d)) now.",
            &[("S", "See the tower now.", "See [the *tower*](https://a.b/c_(d)) now.")],
        ),
        ("A ![red cat](x.png) sat.", &[("S", "A red cat sat.", "A ![red cat](x.png) sat.")]),
        ("Run `cargo test` now.", &[("S", "Run cargo test now.", "Run `cargo test` now.")]),
        (
            "Call `a. B c` now. It works.",
            &[("S", "Call a. B c now.", "Call `a. B c` now."), ("S", "It works.", "It works.")],
        ),
        ("AT&amp;T has <b>5</b> &lt; 6.", &[("S", "AT&T has 5 < 6.", "AT&amp;T has <b>5</b> &lt; 6.")]),
        ("A Vec<String> holds text.", &[("S", "A Vec<String> holds text.", "A Vec<String> holds text.")]),
        ("It is ~~old~~ new.", &[("S", "It is old new.", "It is ~~old~~ new.")]),
        ("From ~5 to ~10 km.", &[("S", "From ~5 to ~10 km.", "From ~5 to ~10 km.")]),
        ("It is 5*3*2 big.", &[("S", "It is 5*3*2 big.", "It is 5*3*2 big.")]),
        (
            "A snake_case_name and 2 * 3 * 4.",
            &[("S", "A snake_case_name and 2 * 3 * 4.", "A snake_case_name and 2 * 3 * 4.")],
        ),
        ("A \\*star\\* here.", &[("S", "A *star* here.", "A \\*star\\* here.")]),
        (
            "It grew\nfast  \nthen\\\nslowly.",
            &[("S", "It grew fast then slowly.", "It grew\nfast  \nthen\\\nslowly.")],
        ),
        ("One<br>two.", &[("S", "One two.", "One<br>two.")]),
        ("Two  \t spaces.", &[("S", "Two spaces.", "Two  \t spaces.")]),
    ]);
}

#[test]
fn citation_marks_are_dropped() {
    check(&[
        (
            "It is tall [1]. It is old [2, 3].",
            &[("S", "It is tall.", "It is tall [1]."), ("S", "It is old.", "It is old [2, 3].")],
        ),
        (
            "It is tall.[1] It is old.[2][3]",
            &[("S", "It is tall.", "It is tall."), ("S", "It is old.", "It is old.")],
        ),
        (
            "It is tall[^1].\n\n[^1]: Smith said it.",
            &[("S", "It is tall.", "It is tall[^1]."), ("S", "Smith said it.", "Smith said it.")],
        ),
        ("It is tall[^9].", &[("S", "It is tall.", "It is tall[^9].")]),
        ("It is tall【4†source】.", &[("S", "It is tall.", "It is tall【4†source】.")]),
        ("Values in [1, 5] are fine.", &[("S", "Values in [1, 5] are fine.", "Values in [1, 5] are fine.")]),
        ("Use `a[1]` here.", &[("S", "Use a[1] here.", "Use `a[1]` here.")]),
        ("[1]", &[("S", "[1]", "[1]")]),
    ]);
}

#[test]
fn list_items_are_sentences_without_their_marks() {
    check(&[
        (
            "- One cat\n- Two dogs. They bark.",
            &[
                ("S", "One cat", "One cat"),
                ("S", "Two dogs.", "Two dogs."),
                ("S", "They bark.", "They bark."),
            ],
        ),
        ("1. One cat\n2) Two dogs", &[("S", "One cat", "One cat"), ("S", "Two dogs", "Two dogs")]),
        (
            "- A cat\n  - A kitten\n    sat\n- A dog",
            &[("S", "A cat", "A cat"), ("S", "A kitten sat", "A kitten\n    sat"), ("S", "A dog", "A dog")],
        ),
        ("- [x] Done it\n- [ ] Not done", &[("S", "Done it", "Done it"), ("S", "Not done", "Not done")]),
        ("1.\nOne cat", &[("S", "One cat", "One cat")]),
        ("1903. It was a year.", &[("S", "1903.", "1903."), ("S", "It was a year.", "It was a year.")]),
        ("42.", &[("S", "42.", "42.")]),
        ("Its answer is\n\n7.", &[("S", "Its answer is", "Its answer is"), ("S", "7.", "7.")]),
        (
            "Facts:\n• One cat\n• Two dogs",
            &[("H", "Facts:", "Facts:"), ("S", "One cat", "One cat"), ("S", "Two dogs", "Two dogs")],
        ),
        (
            "Steps are these:\n2. Do it.\n3. Stop.",
            &[
                ("S", "Steps are these:", "Steps are these:"),
                ("S", "Do it.", "Do it."),
                ("S", "Stop.", "Stop."),
            ],
        ),
        (
            "> Quoted text\n> goes on.\n> > Deeper.",
            &[("S", "Quoted text goes on.", "Quoted text\n> goes on."), ("S", "Deeper.", "Deeper.")],
        ),
    ]);
}

#[test]
fn headings_are_headings_unless_they_say_something() {
    check(&[
        ("# The Tower\nIt is tall.", &[("H", "The Tower", "The Tower"), ("S", "It is tall.", "It is tall.")]),
        (
            "The Tower\r\n===\r\nIt is tall.",
            &[("H", "The Tower", "The Tower"), ("S", "It is tall.", "It is tall.")],
        ),
        (
            "Paris is in France.\n---\nIt is big.",
            &[("S", "Paris is in France.", "Paris is in France."), ("S", "It is big.", "It is big.")],
        ),
        (
            "**Early life**\nShe was born.",
            &[("H", "Early life", "Early life"), ("S", "She was born.", "She was born.")],
        ),
        (
            "**Early life:**\n\nShe was born.",
            &[("H", "Early life:", "Early life:"), ("S", "She was born.", "She was born.")],
        ),
        ("**Paris is in Italy**", &[("S", "Paris is in Italy", "Paris is in Italy")]),
        (
            "## Paris is the capital of Italy.",
            &[("S", "Paris is the capital of Italy.", "Paris is the capital of Italy.")],
        ),
        ("## How tall is it?", &[("Q", "How tall is it?", "How tall is it?")]),
    ]);
}

#[test]
fn tables_give_a_claim_for_each_row() {
    check(&[
        (
            "| City | People |\n|---|---|\n| **Paris** | 2.1 million |\n| Rome | |\n",
            &[
                ("H", "City; People", "City | People"),
                ("T", "City: Paris; People: 2.1 million", "Paris** | 2.1 million"),
                ("T", "City: Rome", "Rome"),
            ],
        ),
        ("a|b\r\n-|-\r\n1|2|3\r\n", &[("H", "a; b", "a|b"), ("T", "a: 1; b: 2; 3", "1|2|3")]),
    ]);
}

#[test]
fn code_is_code_only_in_fences() {
    check(&[
        (
            "```rust\nlet a = 1;\n```\nIt works.",
            &[("C", "let a = 1;", "let a = 1;"), ("S", "It works.", "It works.")],
        ),
        ("`let a = 1;`", &[("C", "let a = 1;", "let a = 1;")]),
        (
            "    Paris is big.\n    It is old.",
            &[("S", "Paris is big.", "Paris is big."), ("S", "It is old.", "It is old.")],
        ),
        ("    Paris is **big**.", &[("S", "Paris is big.", "Paris is **big**.")]),
        ("<div>\n  <p>Paris is <b>big</b>.</p>\n</div>", &[("S", "Paris is big.", "Paris is <b>big</b>.")]),
        ("<!-- note -->\n\nIt is big.", &[("S", "It is big.", "It is big.")]),
    ]);
}

#[test]
fn kinds_are_told_apart_with_care() {
    check(&[
        (
            "Sure! Here are the facts:",
            &[("P", "Sure!", "Sure!"), ("P", "Here are the facts:", "Here are the facts:")],
        ),
        (
            "I hope this helps! Let me know if you need more.",
            &[
                ("P", "I hope this helps!", "I hope this helps!"),
                ("P", "Let me know if you need more.", "Let me know if you need more."),
            ],
        ),
        ("Sure, Paris is in Italy.", &[("S", "Sure, Paris is in Italy.", "Sure, Paris is in Italy.")]),
        (
            "I'm sorry, I cannot help with that.",
            &[("P", "I'm sorry, I cannot help with that.", "I'm sorry, I cannot help with that.")],
        ),
        (
            "I'm sorry, but Paris is in Italy.",
            &[("S", "I'm sorry, but Paris is in Italy.", "I'm sorry, but Paris is in Italy.")],
        ),
        (
            "I cannot provide the date, but he died in 1903.",
            &[(
                "S",
                "I cannot provide the date, but he died in 1903.",
                "I cannot provide the date, but he died in 1903.",
            )],
        ),
        ("Is Paris big?", &[("Q", "Is Paris big?", "Is Paris big?")]),
        ("Paris is in Italy, right?", &[("S", "Paris is in Italy, right?", "Paris is in Italy, right?")]),
        (
            "Did you know that Paris is in Italy?",
            &[("S", "Did you know that Paris is in Italy?", "Did you know that Paris is in Italy?")],
        ),
        ("He asked \"why?\"", &[("S", "He asked \"why?\"", "He asked \"why?\"")]),
        ("Source: https://a.b/c", &[("R", "Source: https://a.b/c", "Source: https://a.b/c")]),
        (
            "[1]: https://a.b/c \"Title\"",
            &[("R", "[1]: https://a.b/c \"Title\"", "[1]: https://a.b/c \"Title\"")],
        ),
        ("[Answer]: 42", &[("S", "[Answer]: 42", "[Answer]: 42")]),
        ("- [Wikipedia page](https://a.b/c)", &[("R", "Wikipedia page", "Wikipedia page")]),
        (
            "## References\n\n1. Smith, J. (2020). The Tower. Press.",
            &[
                ("H", "References", "References"),
                ("R", "Smith, J. (2020). The Tower. Press.", "Smith, J. (2020). The Tower. Press."),
            ],
        ),
        ("🎉 🎉", &[("W", "🎉 🎉", "🎉 🎉")]),
        ("...", &[("W", "...", "...")]),
        ("**Height:** 330 m", &[("S", "Height: 330 m", "Height:** 330 m")]),
    ]);
}

#[test]
fn nothing_gives_nothing() {
    check(&[("", &[]), (" \r\n\t ", &[])]);
}
