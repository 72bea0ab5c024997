use millstream_cpu::Features;
use millstream_engines::InOut;
use millstream_engines::kasumi::*;
use std::time::Instant;

fn best(mut f: impl FnMut(), objects: usize) -> f64 {
    let mut best = f64::MAX;
    f();
    for _ in 0..150 {
        let t = Instant::now();
        f();
        best = best.min(t.elapsed().as_nanos() as f64 / objects as f64);
    }
    best
}

fn main() {
    let hw = Features::hardware(); let kf = if std::env::var("PORTABLE").is_ok() { Features::none() } else { hw };
    if std::env::var("PROFILE").is_ok() {
        let key = F8::new(hw, &[1; 16]).unwrap();
        let mut buffers = vec![vec![0u8; 1024]; 64];
        let lanes = F8Lanes::new(hw);
        let mut jobs: Vec<F8Job> =
            buffers.iter_mut().map(|b| F8Job::new(&key, 1, 2, 1, InOut::in_place(b), 8192)).collect();
        let mut refs: Vec<&mut F8Job> = jobs.iter_mut().collect();
        for _ in 0..50_000 {
            lanes.apply(&mut refs);
        }
        return;
    }
    let args: Vec<usize> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let counts = if args.is_empty() { vec![64] } else { args };
    for same in [false, true] {
        let f8: Vec<F8> =
            (0..512).map(|i| F8::new(kf, &[if same { 1 } else { i as u8 }; 16]).unwrap()).collect();
        let f9: Vec<F9> =
            (0..512).map(|i| F9::new(kf, &[if same { 1 } else { i as u8 }; 16]).unwrap()).collect();
        for &count in &counts {
            for size in [16usize, 20, 64, 256, 1024, 8192] {
                let mut buffers = vec![vec![0u8; size]; count];
                let reps = (20_000 / (count * size)).max(1);
                print!("same key {same:5} x{count:3} {size:5} B  ");
                for kernel in UEA1_LANES.available(hw) {
                    let lanes = F8Lanes::with_kernel(kernel);
                    let mut jobs: Vec<F8Job> = buffers
                        .iter_mut()
                        .enumerate()
                        .map(|(i, b)| F8Job::new(&f8[i], 1, 2, 1, InOut::in_place(b), 8 * size))
                        .collect();
                    let mut refs: Vec<&mut F8Job> = jobs.iter_mut().collect();
                    let ns = best(
                        || {
                            for _ in 0..reps {
                                lanes.apply(&mut refs)
                            }
                        },
                        reps * count,
                    );
                    print!("f8 {:24} {ns:8.1} ns {:6.3} ns/B  ", kernel.kernel().name, ns / size as f64);
                }
                for kernel in UIA1_LANES.available(hw) {
                    let lanes = F9Lanes::with_kernel(kernel);
                    let mut jobs: Vec<F9Job> = buffers
                        .iter()
                        .enumerate()
                        .map(|(i, b)| F9Job::new(&f9[i], 1, 2, 1, b, 8 * size))
                        .collect();
                    let mut refs: Vec<&mut F9Job> = jobs.iter_mut().collect();
                    let ns = best(
                        || {
                            for _ in 0..reps {
                                lanes.mac(&mut refs)
                            }
                        },
                        reps * count,
                    );
                    print!("f9 {:8} {ns:8.1} ns {:6.3} ns/B  ", &kernel.kernel().name[..8], ns / size as f64);
                }
                println!();
            }
        }
    }
}
