//! Prints the functions in a file that hold instructions of interest, and the places for breakpoints.
//!
//! `cargo run -p millstream-observe --example sites -- /usr/bin/openssl`

use std::error::Error;
use std::fs::File;
use std::time::Instant;

use millstream_observe::code::Image;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which file? Give its path.")?;
    let began = Instant::now();
    let image = Image::of_file(&File::open(&path)?)?;
    let took = began.elapsed();
    let mut last = None;
    for site in image.sites() {
        if last != Some(site.function) {
            let function = &image.functions()[site.function];
            let entry = if function.entry_proven { "" } else { ", entry not proven" };
            println!(
                "{} {:x}..{:x} {:?}{entry} {:?}",
                image.name(site.function),
                function.start,
                function.end,
                function.bounds,
                image.carry_less(site.function)
            );
            last = Some(site.function);
        }
        println!("  {:x} +{} {:3} {}", site.address, site.run, site.instructions, site.classes);
    }
    let functions = image.functions().len();
    println!("{functions} functions, {} sites, looked at in {took:.1?}", image.sites().len());
    println!("proven:   {}", counts(image.proven()));
    println!("unproved: {}", counts(image.unproved()));
    Ok(())
}

fn counts(counts: &millstream_observe::code::Counts) -> String {
    let each: Vec<String> = counts.iter().map(|(class, count)| format!("{count} {}", class.name())).collect();
    if each.is_empty() { "none".into() } else { each.join(", ") }
}
