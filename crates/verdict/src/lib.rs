//! Reports to sentence and response verdicts.
