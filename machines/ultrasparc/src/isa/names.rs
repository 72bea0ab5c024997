//! The assembler's names of registers, address spaces, and numbers.
//! Ref. SPARC V9 §5, §A.35, §A.42; UltraSPARC Architecture 2007 §5.5 and §9 (ASIs); OSA 2011.

/// An integer register.
pub(super) fn integer(field: u8) -> &'static str {
    const NAMES: [&str; 32] = [
        "%g0", "%g1", "%g2", "%g3", "%g4", "%g5", "%g6", "%g7", "%o0", "%o1", "%o2", "%o3", "%o4", "%o5",
        "%sp", "%o7", "%l0", "%l1", "%l2", "%l3", "%l4", "%l5", "%l6", "%l7", "%i0", "%i1", "%i2", "%i3",
        "%i4", "%i5", "%fp", "%i7",
    ];
    NAMES[usize::from(field & 31)]
}

/// An ancillary state register; one without a name goes by its number. Some are read under one name and written under
/// another.
pub(super) fn ancillary(number: u8, written: bool) -> String {
    let name = match number {
        0 => "y",
        2 => "ccr",
        3 => "asi",
        4 if !written => "tick",
        5 if !written => "pc",
        6 => "fprs",
        16 => "pcr",
        17 => "pic",
        18 => "dcr",
        19 => "gsr",
        20 if written => "softint_set",
        21 if written => "softint_clear",
        22 => "softint",
        23 => "tick_cmpr",
        24 => "stick",
        25 => "stick_cmpr",
        26 if !written => "cfr",
        27 if written => "pause",
        _ => return format!("%asr{number}"),
    };
    format!("%{name}")
}

/// A privileged register.
pub(super) fn privileged(number: u8) -> String {
    const NAMES: [&str; 17] = [
        "tpc",
        "tnpc",
        "tstate",
        "tt",
        "tick",
        "tba",
        "pstate",
        "tl",
        "pil",
        "cwp",
        "cansave",
        "canrestore",
        "cleanwin",
        "otherwin",
        "wstate",
        "fq",
        "gl",
    ];
    match NAMES.get(usize::from(number)) {
        Some(name) => format!("%{name}"),
        None if number == 31 => "%ver".to_owned(),
        None => format!("%{number}"),
    }
}

/// The name of an address space that user programs may use.
pub(super) fn asi(number: u8) -> Option<&'static str> {
    Some(match number {
        0x80 => "#ASI_P",
        0x81 => "#ASI_S",
        0x82 => "#ASI_PNF",
        0x83 => "#ASI_SNF",
        0x88 => "#ASI_P_L",
        0x89 => "#ASI_S_L",
        0x8a => "#ASI_PNF_L",
        0x8b => "#ASI_SNF_L",
        0xc0 => "#ASI_PST8_P",
        0xc1 => "#ASI_PST8_S",
        0xc2 => "#ASI_PST16_P",
        0xc3 => "#ASI_PST16_S",
        0xc4 => "#ASI_PST32_P",
        0xc5 => "#ASI_PST32_S",
        0xc8 => "#ASI_PST8_PL",
        0xc9 => "#ASI_PST8_SL",
        0xca => "#ASI_PST16_PL",
        0xcb => "#ASI_PST16_SL",
        0xcc => "#ASI_PST32_PL",
        0xcd => "#ASI_PST32_SL",
        0xd0 => "#ASI_FL8_P",
        0xd1 => "#ASI_FL8_S",
        0xd2 => "#ASI_FL16_P",
        0xd3 => "#ASI_FL16_S",
        0xd8 => "#ASI_FL8_PL",
        0xd9 => "#ASI_FL8_SL",
        0xda => "#ASI_FL16_PL",
        0xdb => "#ASI_FL16_SL",
        0xe0 => "#ASI_BLK_COMMIT_P",
        0xe1 => "#ASI_BLK_COMMIT_S",
        0xe2 => "#ASI_BLK_INIT_QUAD_LDD_P",
        0xe3 => "#ASI_TWINX_S",
        0xea => "#ASI_TWINX_PL",
        0xeb => "#ASI_TWINX_SL",
        0xf0 => "#ASI_BLK_P",
        0xf1 => "#ASI_BLK_S",
        0xf2 => "#ASI_STBI_PM",
        0xf3 => "#ASI_STBI_SM",
        0xf8 => "#ASI_BLK_PL",
        0xf9 => "#ASI_BLK_SL",
        0xfa => "#ASI_STBI_PLM",
        0xfb => "#ASI_STBI_SLM",
        _ => return None,
    })
}

/// The name of a prefetch's function.
pub(super) fn prefetch(function: u8) -> Option<&'static str> {
    Some(match function {
        0 => "#n_reads",
        1 => "#one_read",
        2 => "#n_writes",
        3 => "#one_write",
        4 => "#page",
        16 => "#invalidate",
        17 => "#unified",
        20 => "#n_reads_strong",
        21 => "#one_read_strong",
        22 => "#n_writes_strong",
        23 => "#one_write_strong",
        _ => return None,
    })
}

/// The names of the accesses that a `membar` orders, from the mask's high bit to its low one.
pub(super) fn membar(mask: u8) -> String {
    const NAMES: [&str; 7] =
        ["#LoadLoad", "#StoreLoad", "#LoadStore", "#StoreStore", "#Lookaside", "#MemIssue", "#Sync"];
    let set: Vec<&str> = (0..7).rev().filter(|bit| mask >> bit & 1 != 0).map(|bit| NAMES[bit]).collect();
    if set.is_empty() { "0".to_owned() } else { set.join("|") }
}
