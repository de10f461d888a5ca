//! The wire between coordinators and workers.
