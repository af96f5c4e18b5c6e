//! The C interface of sessions.
