//! The T4's crypto instructions: one file a family.
