//! The accelerator from outside: the engines' published vectors and random operations through
//! batches and through queues, the rules for control words, scheduling, secrets.

mod alike;
mod case;
mod digests;
mod grants;
mod hash_signatures;
mod kinds;
mod lattices;
mod miri;
mod pairs;
mod pieces;
mod purpose;
mod queue;
mod random;
mod rules;
mod schedule;
mod shares;
mod slices;
mod soak;
mod staged;
mod vectors;
