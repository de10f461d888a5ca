//! Scenario tests of the whole product live in `system/`.
