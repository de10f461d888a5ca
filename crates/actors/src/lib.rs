//! The little that ractor lacks: restart policy, stable handles, credits.
