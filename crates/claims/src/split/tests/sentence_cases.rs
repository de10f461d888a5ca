use super::check_plain;

#[test]
fn abbreviations_and_initials_do_not_end_sentences() {
    check_plain(&[
        ("Dr. Smith met Mrs. Jones. They spoke.", &["Dr. Smith met Mrs. Jones.", "They spoke."]),
        ("He moved to the U.S. He worked there.", &["He moved to the U.S.", "He worked there."]),
        ("The U.S. Senate met. It voted.", &["The U.S. Senate met.", "It voted."]),
        ("Use tools, e.g. Rust. It works.", &["Use tools, e.g. Rust.", "It works."]),
        ("The best, i.e. Paris, won.", &["The best, i.e. Paris, won."]),
        ("Symphony No. 5 is famous. It is loud.", &["Symphony No. 5 is famous.", "It is loud."]),
        ("Did he? No. He did not.", &["Did he?", "No.", "He did not."]),
        ("Roe vs. Wade was decided. It held.", &["Roe vs. Wade was decided.", "It held."]),
        ("It weighs approx. 5 kg. It is red.", &["It weighs approx. 5 kg.", "It is red."]),
        ("On Jan. 3 he left. She stayed.", &["On Jan. 3 he left.", "She stayed."]),
        ("It was sold in Jan. The price fell.", &["It was sold in Jan.", "The price fell."]),
        ("J. K. Rowling wrote it. It sold.", &["J. K. Rowling wrote it.", "It sold."]),
        ("J.R.R. Tolkien wrote it. It sold.", &["J.R.R. Tolkien wrote it.", "It sold."]),
        ("It was by George W. Bush. He won.", &["It was by George W. Bush.", "He won."]),
        ("Apple Inc. makes phones. They sell.", &["Apple Inc. makes phones.", "They sell."]),
        ("Bring pens, paper, etc. The test is long.", &["Bring pens, paper, etc.", "The test is long."]),
        ("It is at 5 p.m. Monday. Come.", &["It is at 5 p.m. Monday.", "Come."]),
        ("It closes at 5 p.m. Bring food.", &["It closes at 5 p.m.", "Bring food."]),
        ("See Fig. 3 for this. It shows it.", &["See Fig. 3 for this.", "It shows it."]),
        ("Smith et al. found it. It held.", &["Smith et al. found it.", "It held."]),
        ("He got a Ph.D. in physics. He taught.", &["He got a Ph.D. in physics.", "He taught."]),
        ("He lives on Main St. in Ohio. He is old.", &["He lives on Main St. in Ohio.", "He is old."]),
        ("Martin Luther King Jr. spoke. They came.", &["Martin Luther King Jr. spoke.", "They came."]),
    ]);
}

#[test]
fn numbers_versions_addresses_and_files_stay_whole() {
    check_plain(&[
        ("Pi is 3.14 or so. It is odd.", &["Pi is 3.14 or so.", "It is odd."]),
        ("Use v1.2.3 now. It works.", &["Use v1.2.3 now.", "It works."]),
        (
            "See https://a.b/c.d?x=Y.Z for it. It is good.",
            &["See https://a.b/c.d?x=Y.Z for it.", "It is good."],
        ),
        ("Write to j.doe@a.com. She answers.", &["Write to j.doe@a.com.", "She answers."]),
        ("Open main.rs and lib.rs. They compile.", &["Open main.rs and lib.rs.", "They compile."]),
        ("Node.js is fast. It is JavaScript.", &["Node.js is fast.", "It is JavaScript."]),
        ("It was 1903. 10 people came.", &["It was 1903.", "10 people came."]),
        ("It cost $5.99. That was cheap.", &["It cost $5.99.", "That was cheap."]),
        ("The ratio is .5 here. Fine.", &["The ratio is .5 here.", "Fine."]),
    ]);
}

#[test]
fn ellipses_quotes_and_brackets_close_sentences() {
    check_plain(&[
        ("Wait... what is it", &["Wait... what is it"]),
        ("He waited... Then he left.", &["He waited...", "Then he left."]),
        ("He waited… Then he left.", &["He waited…", "Then he left."]),
        ("He waited… and left.", &["He waited… and left."]),
        ("\"Stop!\" he said. He ran.", &["\"Stop!\" he said.", "He ran."]),
        ("He said \"no.\" She left.", &["He said \"no.\"", "She left."]),
        ("He said “no.” She left.", &["He said “no.”", "She left."]),
        ("(He ran.) She left.", &["(He ran.)", "She left."]),
        ("It fell (see p. 5). It broke.", &["It fell (see p. 5).", "It broke."]),
        (
            "The tower (built in 1889. It was new) is tall.",
            &["The tower (built in 1889. It was new) is tall."],
        ),
        ("Is it? Yes! It is.", &["Is it?", "Yes!", "It is."]),
        ("What?! He left.", &["What?!", "He left."]),
        ("Yahoo! is old. It fell.", &["Yahoo! is old.", "It fell."]),
    ]);
}

#[test]
fn other_scripts_and_signs_are_known() {
    check_plain(&[
        ("你好。我是学生！你呢？好", &["你好。", "我是学生！", "你呢？", "好"]),
        ("他说：「你好。」然后走了。", &["他说：「你好。」", "然后走了。"]),
        ("यह एक वाक्य है। यह दूसरा है।", &["यह एक वाक्य है।", "यह दूसरा है।"]),
        ("ما هذا؟ هذا كتاب.", &["ما هذا؟", "هذا كتاب."]),
        ("I love it! 🎉 It works. 🚀", &["I love it!", "🎉 It works. 🚀"]),
        ("No full stop here", &["No full stop here"]),
        ("Élan vital. École normale.", &["Élan vital.", "École normale."]),
    ]);
}

#[test]
fn lines_are_folded_unless_the_line_before_ends() {
    check_plain(&[
        ("First one.\r\nSecond one.\r\n", &["First one.", "Second one."]),
        ("First para\n\nSecond para", &["First para", "Second para"]),
        ("Facts:\nThe tower is tall", &["Facts:", "The tower is tall"]),
        ("Met Dr.\u{20}Smith. Then\u{20}left", &["Met Dr. Smith.", "Then left"]),
    ]);
}

#[test]
fn a_megabyte_without_a_full_stop_is_one_sentence() {
    let text = "word ".repeat((1 << 20) / 5);
    let claims = super::split_response(&text, &super::SplitOptions::default());
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].span.len(), text.trim_end().len());
}
