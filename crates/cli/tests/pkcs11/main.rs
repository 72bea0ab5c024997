//! The PKCS #11 module over the tokens of a real service: every operation with a key that stays there, compared with one of this process,
//! and accidents of the service, of the policy and of the program.

mod accidents;
mod bed;
mod certificates;
mod in_flight;
mod keys;
mod large;
mod pins;
mod raw;
#[allow(dead_code)]
#[path = "../isolated/service.rs"]
mod service;
mod slh_dsa;
mod ten_thousand;
