//! One binary for every scenario: linking is the slow part.
