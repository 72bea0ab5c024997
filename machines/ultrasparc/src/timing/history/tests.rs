//! Computes the fits again, and compares the predictions with the published figures.

use super::*;
use crate::timing::counts::RECORDED;

/// Returns the cycles of a call beside its bytes, from a published rate.
fn call(rate: f64, bytes: u64, per_byte: f64) -> f64 {
    (p::T4_CLOCK.value / (rate * 1e3) - per_byte) * bytes as f64
}

fn near(parameter: p::Parameter, fit: f64) {
    let error = parameter.value / fit - 1.0;
    assert!(error.abs() < 0.002, "{}: {} where the fit gives {fit}", parameter.name, parameter.value);
    assert!(matches!(parameter.origin, p::Origin::Fitted(_)), "{}", parameter.name);
}

#[test]
fn parameters_of_the_t4_are_what_the_fits_give() {
    let published = p::T4_AES128_CBC.value;
    near(p::T4_ENGINE_CALL, call(T4_ENGINE[0], 16, published));
    near(p::T4_PKCS11_CALL, call(T4_PKCS11[0], 16, published));
    near(p::T4_HWCAP_CALL, call(T4_WITH[0], 16, published));
    // A line through the cycles of 16 and of 8192 bytes.
    let cycles = |index: usize| p::T4_CLOCK.value / (T4_WITHOUT[index] * 1e3) * SIZES[index] as f64;
    let slope = (cycles(4) - cycles(0)) / (8192.0 - 16.0);
    near(p::T4_SOFTWARE_AES128_CBC, slope);
    near(p::T4_HWCAP_SOFTWARE_CALL, cycles(0) - 16.0 * slope);
}

#[test]
fn parameters_of_montmul_are_what_the_fit_gives() {
    // A line through 1024 and 2048 bits, over the products of words.
    let each = |index: usize| p::T4_CLOCK.value / T4_RSA[index] / RSA_SIGNATURES[index].1 as f64;
    let (few, many) = (2.0 * 8.0 * 8.0, 2.0 * 16.0 * 16.0);
    let slope = (each(1) - each(0)) / (many - few);
    near(p::T4_MONTMUL_PRODUCT, slope);
    near(p::T4_MONTMUL_CALL, each(0) - slope * few);
}

#[test]
fn parameters_of_the_unit_are_what_the_fits_give() {
    // 9 GB/s from 16 units that are always busy; the start from DRAM is that of 70 % at 1 KB.
    let one = LARGE as f64 / (9e9 / 16.0 / p::T2_CLOCK.value);
    let start = |part: f64| ONE_KB as f64 * (1.0 / part - 1.0);
    let per_byte = one / (LARGE as f64 + start(0.7));
    near(p::SPU_AES128, per_byte);
    near(p::SPU_START_L2, start(0.9) * per_byte);
    near(p::SPU_START_DRAM, start(0.7) * per_byte);
}

#[test]
fn parameters_of_the_framework_are_what_the_fits_give() {
    let fast = fast_path(&RECORDED, SMALL) / p::T3_CLOCK.value;
    let copies = |bytes: u64| p::T2_COPY.value * (2 * bytes) as f64;
    let unit = model::unit(Bulk::Aes128, SMALL, Level::L2);
    let both = 30.0 * fast * p::T2_CLOCK.value - unit - copies(SMALL);
    let thread = (both + copies(LARGE) + encrypt_mac()) / 4.7 - copies(LARGE);
    near(p::FRAMEWORK_THREAD, thread);
    near(p::FRAMEWORK_REST, both - thread);
}

#[test]
fn predictions_are_within_the_tolerance_or_explained() {
    for experiment in experiments(&RECORDED) {
        for point in &experiment.points {
            let explained = point.agrees() || experiment.note.contains(" off: ");
            assert!(explained, "{}: {point:?}", experiment.title);
            assert!(point.model.is_finite() && point.model > 0.0, "{}: {point:?}", experiment.title);
        }
    }
}

#[test]
fn an_experiment_with_measurements_keeps_some_of_them_from_the_fit() {
    for experiment in experiments(&RECORDED) {
        let measured = |point: &&Point| point.claim == Claim::Measured;
        let all = experiment.points.iter().filter(measured).count();
        let fitted = experiment.points.iter().filter(measured).filter(|p| p.how == How::Fitted).count();
        assert!(all == 0 || fitted < all, "{}", experiment.title);
    }
}
