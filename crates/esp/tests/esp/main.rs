//! Associations from outside: packets both ways under every suite, everything that is to be dropped, and the order that workers keep.

mod dropped;
mod kernel;
mod order;
mod peers;
mod round;
mod scapy;
mod table;
