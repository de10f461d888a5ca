"""How a peer talks to the benchmark that started it: a command on each line, an answer in JSON on each."""

import json
import os
import platform
import sys


def answer_lines(make):
    """Answers what standard input asks of `make()`, which has a `version` and the method `answer(command)`."""
    # Libraries print progress; the answers need standard output for themselves.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(answer):
        print(json.dumps(answer), file=answers, flush=True)

    contender = make()
    say({"version": contender.version, "python": platform.python_version()})
    for line in sys.stdin:
        say(contender.answer(line.strip()))
