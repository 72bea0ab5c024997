//! OpenJDK's virtual machine, which describes its own structures for debuggers.
//!
//! The machine makes its routines for ciphers and hashes when it starts. A static field of `StubRoutines`
//! holds the address of each, which is the routine's start. Three sources tell where these fields are, and
//! each of them knows some: the exported table `gHotSpotVMStructs`, a second such table for compilers, and
//! the symbols where they are not stripped. Compiled Java methods call these routines. They hold no
//! instruction of a cipher themselves and are not searched, as the machine rewrites them while it runs.
//!
//! Ref. OpenJDK `src/hotspot/share/runtime/vmStructs.hpp`, `stubRoutines.hpp`, `memory/heap.hpp`; releases 17 to 25.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;

use super::stretch::{Made, Origin, Stretch, Told, stretch};
use crate::code::elf::{text_at, u64_at};
use crate::code::modules::Module;
use crate::memory::Memory;

/// Returns true for a data symbol that this module reads.
pub(in crate::code) fn is_landmark(name: &str) -> bool {
    name.starts_with("gHotSpotVM") || name.starts_with(ROUTINES)
}

/// The beginning of the C++ symbols of `StubRoutines`' fields.
const ROUTINES: &str = "_ZN12StubRoutines";
/// The largest number of entries that is read from a table.
const MOST_ENTRIES: u64 = 20_000;
/// The largest piece of code that is read.
const MOST_BYTES: u64 = 1 << 24;

/// The address of the field with a routine's address, and the routine's name.
type Routine = (u64, String);

/// The virtual machine of one process.
#[derive(Debug)]
pub(super) struct HotSpot {
    routines: Vec<Routine>,
    layout: Layout,
    /// The routines' addresses at the last look.
    entries: Vec<u64>,
}

/// Offsets of fields, addresses of static fields, and sizes of classes.
#[derive(Debug)]
struct Layout {
    fields: HashMap<(String, String), u64>,
    sizes: HashMap<String, u64>,
}

impl Layout {
    fn field(&self, class: &str, name: &str) -> Option<u64> {
        self.fields.get(&(class.to_owned(), name.to_owned())).copied()
    }
}

/// Memory of which each page is read once, for tables that don't change meanwhile.
struct Pages<'a> {
    memory: &'a dyn Memory,
    pages: RefCell<HashMap<u64, Option<Box<[u8]>>>>,
}

impl Pages<'_> {
    const SIZE: u64 = 4096;

    fn byte_runs(&self, address: u64, mut with: impl FnMut(&[u8]) -> bool) -> Option<()> {
        let mut at = address;
        loop {
            let page = at & !(Self::SIZE - 1);
            let mut pages = self.pages.borrow_mut();
            let bytes = pages.entry(page).or_insert_with(|| {
                let mut bytes = vec![0; Self::SIZE as usize];
                self.memory.read(page, &mut bytes).ok().map(|()| bytes.into())
            });
            if !with(&bytes.as_ref()?[(at - page) as usize..]) {
                return Some(());
            }
            at = page.checked_add(Self::SIZE)?;
        }
    }

    /// Returns the zero-terminated text at an address.
    fn text(&self, address: u64) -> Option<String> {
        let mut text = Vec::new();
        self.byte_runs(address, |bytes| {
            let end = bytes.iter().position(|byte| *byte == 0);
            text.extend(&bytes[..end.unwrap_or(bytes.len())]);
            end.is_none() && text.len() < 512
        })?;
        String::from_utf8(text).ok()
    }
}

impl Memory for Pages<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        let done = self.byte_runs(address, |bytes| {
            let count = bytes.len().min(buffer.len() - filled);
            buffer[filled..filled + count].copy_from_slice(&bytes[..count]);
            filled += count;
            filled < buffer.len()
        });
        done.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
    }
}

/// A reader of the machine's tables.
struct Tables<'a> {
    pages: Pages<'a>,
    module: &'a Module,
}

impl Tables<'_> {
    fn word(&self, address: u64) -> Option<u64> {
        self.pages.word(address).ok()
    }

    /// Returns the number that the machine keeps under a symbol.
    fn said(&self, name: &str) -> Option<u64> {
        let address = self.module.image.landmarks.get(name)?;
        self.word(address.wrapping_add(self.module.bias))
    }

    fn text(&self, address: u64) -> Option<String> {
        if address == 0 { None } else { self.pages.text(address) }
    }

    /// Reads the exported table: the layout, the routines in it, and the address of the text that names their
    /// class.
    fn structs(&self) -> Option<(Layout, Vec<Routine>, Option<u64>)> {
        let at = |what: &str| self.said(&format!("gHotSpotVMStructEntry{what}"));
        let (class, field, kind) = (at("TypeNameOffset")?, at("FieldNameOffset")?, at("TypeStringOffset")?);
        let (is_static, offset, place) = (at("IsStaticOffset")?, at("OffsetOffset")?, at("AddressOffset")?);
        let (start, stride) = (self.said("gHotSpotVMStructs")?, at("ArrayStride")?);
        let mut layout = Layout { fields: HashMap::new(), sizes: HashMap::new() };
        let (mut routines, mut class_text) = (Vec::new(), None);
        for index in 0..MOST_ENTRIES {
            let entry = start.checked_add(index.checked_mul(stride)?)?;
            let class_name_at = self.word(entry.wrapping_add(class))?;
            let (Some(class), Some(name)) =
                (self.text(class_name_at), self.text(self.word(entry.wrapping_add(field))?))
            else {
                break;
            };
            let is_static = self.word(entry.wrapping_add(is_static))? as u32 != 0;
            let value = self.word(entry.wrapping_add(if is_static { place } else { offset }))?;
            if class == "StubRoutines" && is_static {
                class_text = Some(class_name_at);
                if self.text(self.word(entry.wrapping_add(kind))?).as_deref() == Some("address") {
                    routines.push((value, name.clone()));
                }
            }
            layout.fields.insert((class, name), value);
        }
        Some((layout, routines, class_text))
    }

    fn sizes(&self) -> Option<HashMap<String, u64>> {
        let (start, stride) = (self.said("gHotSpotVMTypes")?, self.said("gHotSpotVMTypeEntryArrayStride")?);
        let name = self.said("gHotSpotVMTypeEntryTypeNameOffset")?;
        let size = self.said("gHotSpotVMTypeEntrySizeOffset")?;
        let mut sizes = HashMap::new();
        for index in 0..MOST_ENTRIES {
            let entry = start.checked_add(index.checked_mul(stride)?)?;
            let Some(text) = self.text(self.word(entry.wrapping_add(name))?) else { break };
            sizes.insert(text, self.word(entry.wrapping_add(size))?);
        }
        Some(sizes)
    }

    /// Reads the table for compilers. It has no symbol, but its entries name the class by the very same text.
    fn second_table(&self, class_text: u64) -> Vec<Routine> {
        let mut routines = Vec::new();
        let writable = self.module.image.segments.iter().filter(|segment| segment.flags & 2 != 0);
        for segment in writable {
            let mut bytes = vec![0; segment.file_size.min(MOST_BYTES) as usize];
            let start = segment.address.wrapping_add(self.module.bias);
            if self.pages.memory.read(start, &mut bytes).is_err() {
                continue;
            }
            for at in (0..bytes.len().saturating_sub(47)).step_by(8) {
                if u64_at(&bytes, at) != Some(class_text) {
                    continue;
                }
                // An entry has six fields of eight bytes: class, field, type, whether it is static, offset,
                // address.
                let word = |index: usize| u64_at(&bytes, at + 8 * index).unwrap_or(0);
                let is_address = self.text(word(2)).as_deref() == Some("address");
                if let Some(name) = self.text(word(1)).filter(|_| is_address && word(3) as u32 == 1) {
                    routines.push((word(5), name));
                }
            }
        }
        routines
    }

    /// Returns the fields that have a symbol: `_ZN12StubRoutines`, the length of the name, the name, `E`.
    fn symbols(&self) -> impl Iterator<Item = Routine> {
        self.module.image.landmarks.iter().filter_map(|(symbol, address)| {
            let rest = symbol.strip_prefix(ROUTINES)?.strip_suffix('E')?;
            let name = rest.trim_start_matches(|character: char| character.is_ascii_digit());
            let length = rest[..rest.len() - name.len()].parse::<usize>().ok()?;
            (length == name.len()).then(|| (address.wrapping_add(self.module.bias), name.to_owned()))
        })
    }
}

impl HotSpot {
    /// Returns the machine in a module, if the module is one and its tables are filled.
    pub fn of(memory: &dyn Memory, module: &Module) -> Option<HotSpot> {
        module.image.landmarks.get("gHotSpotVMStructs")?;
        let tables = Tables { pages: Pages { memory, pages: RefCell::default() }, module };
        let (mut layout, mut routines, class_text) = tables.structs()?;
        layout.sizes = tables.sizes()?;
        layout.field("CodeCache", "_heaps")?;
        routines.extend(class_text.map_or_else(Vec::new, |text| tables.second_table(text)));
        routines.extend(tables.symbols());
        // Some fields point at tables, which their names say.
        let is_table =
            |name: &str| ["_addr", "_adr", "_table", "_mask", "_code"].iter().any(|end| name.ends_with(end));
        routines.retain(|(_, name)| !is_table(name));
        routines.sort();
        routines.dedup_by_key(|(address, _)| *address);
        Some(HotSpot { routines, layout, entries: Vec::new() })
    }

    /// Returns the stretches with routines, if any routine was made since the last look.
    pub fn look(&mut self, memory: &dyn Memory) -> Vec<Stretch> {
        let entries = self.read_entries(memory);
        if entries == self.entries {
            return Vec::new();
        }
        let mut named: Vec<(u64, &str)> = Vec::new();
        for (entry, (_, name)) in entries.iter().zip(&self.routines) {
            named.push((*entry, name.trim_start_matches('_')));
        }
        named.sort_unstable();
        named.dedup_by_key(|(entry, _)| *entry);
        let mut stretches = Vec::new();
        let mut rest = named.as_slice();
        while let Some((entry, _)) = rest.first() {
            let Some(blob) = Heaps::read(memory, &self.layout).and_then(|heaps| heaps.blob(memory, *entry))
            else {
                // An address outside of the heaps is no routine's.
                rest = &rest[1..];
                continue;
            };
            let inside = rest.partition_point(|(entry, _)| *entry < blob.end);
            let told = told(&rest[..inside], blob.end);
            let mut bytes = vec![0; (blob.end - blob.start) as usize];
            if memory.read(blob.start, &mut bytes).is_ok() {
                stretches.extend(stretch(blob.start, bytes, Origin::HotSpot, &told));
            }
            rest = &rest[inside.max(1)..];
        }
        self.entries = entries;
        stretches
    }

    /// Reads the fields' values. The fields lie together, so a few reads fetch them all.
    fn read_entries(&self, memory: &dyn Memory) -> Vec<u64> {
        let pages = Pages { memory, pages: RefCell::default() };
        self.routines.iter().map(|(field, _)| pages.word(*field).unwrap_or(0)).collect()
    }

    /// Returns the method or routine at an address.
    pub fn made_at(&self, memory: &dyn Memory, address: u64) -> Option<Made> {
        let blob = Heaps::read(memory, &self.layout)?.blob(memory, address)?;
        // A method is either compiled or a wrapper around a native function.
        if matches!(&*blob.name, "nmethod" | "native nmethod") {
            let name = blob.method(memory, &self.layout).unwrap_or_else(|| blob.name.clone());
            let words = memory.word(blob.header + self.layout.field("CodeBlob", "_frame_size")?).ok()? as u32;
            return Some(Made { start: blob.start, name, frame_size: 8 * u64::from(words) });
        }
        let routine = self.routine_at(address).filter(|(start, _)| *start >= blob.start);
        let (start, name) = routine.unwrap_or((blob.start, blob.name));
        Some(Made { start, name, frame_size: 0 })
    }

    fn routine_at(&self, address: u64) -> Option<(u64, String)> {
        let entries = self.entries.iter().zip(&self.routines);
        let (start, (_, name)) =
            entries.filter(|(entry, _)| **entry <= address).max_by_key(|(entry, _)| **entry)?;
        Some((*start, format!("StubRoutines::{}", name.trim_start_matches('_'))))
    }
}

/// Gives each routine its range. It ends at the latest where the next one begins.
fn told(entries: &[(u64, &str)], end: u64) -> Vec<Told> {
    let ends = entries.iter().skip(1).map(|(entry, _)| *entry).chain([end]);
    entries
        .iter()
        .zip(ends)
        .map(|((start, name), end)| (*start..end, format!("StubRoutines::{name}")))
        .collect()
}

/// The heaps in which the machine keeps its code.
struct Heaps<'a> {
    layout: &'a Layout,
    /// For each heap: its first address, the address behind its last, the map of its segments, and the binary
    /// logarithm of a segment's size.
    list: Vec<(u64, u64, u64, u32)>,
}

/// A piece of code with its header.
struct Blob {
    header: u64,
    start: u64,
    end: u64,
    name: String,
}

impl<'a> Heaps<'a> {
    fn read(memory: &dyn Memory, layout: &'a Layout) -> Option<Heaps<'a>> {
        let field = |class, name| layout.field(class, name);
        let array = memory.word(field("CodeCache", "_heaps")?).ok()?;
        // The class had another name up to release 15.
        let length = field("GrowableArrayBase", "_len").or(field("GenericGrowableArray", "_len"))?;
        let count = memory.word(array.checked_add(length)?).ok()? as u32;
        let data = memory.word(array.checked_add(field("GrowableArray<int>", "_data")?)?).ok()?;
        let (low, high) = (field("VirtualSpace", "_low")?, field("VirtualSpace", "_high")?);
        let (code, map) = (field("CodeHeap", "_memory")?, field("CodeHeap", "_segmap")?);
        let bits = field("CodeHeap", "_log2_segment_size")?;
        let mut list = Vec::new();
        for index in 0..u64::from(count.min(16)) {
            let heap = memory.word(data.checked_add(8 * index)?).ok()?;
            let read = |offset: u64| memory.word(heap.checked_add(offset)?).ok();
            list.push((
                read(code.checked_add(low)?)?,
                read(code.checked_add(high)?)?,
                read(map.checked_add(low)?)?,
                read(bits)? as u32 & 31,
            ));
        }
        Some(Heaps { layout, list })
    }

    /// Returns the piece of code that holds an address.
    fn blob(&self, memory: &dyn Memory, address: u64) -> Option<Blob> {
        let (low, _, map, bits) =
            *self.list.iter().find(|(low, high, ..)| (*low..*high).contains(&address))?;
        // The map gives the number of segments to go back to the block's start, in one step or in several.
        let mut segment = (address - low) >> bits;
        for _ in 0..1 << 16 {
            let mut back = [0];
            memory.read(map.checked_add(segment)?, &mut back).ok()?;
            match back[0] {
                0 => break,
                0xFF => return None,
                back => segment = segment.checked_sub(u64::from(back))?,
            }
        }
        let block = low.checked_add(segment << bits)?;
        let header = block.checked_add(*self.layout.sizes.get("HeapBlock")?)?;
        let blob = self.blob_at(memory, header)?;
        (blob.start..blob.end).contains(&address).then_some(blob)
    }

    fn blob_at(&self, memory: &dyn Memory, header: u64) -> Option<Blob> {
        let field = |name: &str| self.layout.field("CodeBlob", name);
        let word = |offset: u64| memory.word(header.checked_add(offset)?).ok();
        let near = |offset: u64| header.checked_add(u64::from(word(offset)? as u32));
        let (start, end) = match field("_code_begin") {
            Some(begin) => (word(begin)?, word(field("_code_end")?)?),
            // Releases from 23 on keep 32-bit offsets instead.
            None => (near(field("_code_offset")?)?, near(field("_data_offset")?)?),
        };
        let mut name = [0; 64];
        memory.read(word(field("_name")?)?, &mut name).ok()?;
        let fits = start > header && end > start && end - start <= MOST_BYTES;
        fits.then_some(Blob { header, start, end, name: text_at(&name, 0)?.to_owned() })
    }
}

impl Blob {
    /// Returns the class and name of a compiled method.
    fn method(&self, memory: &dyn Memory, layout: &Layout) -> Option<String> {
        let word = |address: u64, class: &str, name: &str| {
            memory.word(address.checked_add(layout.field(class, name)?)?).ok()
        };
        let method = word(self.header, "nmethod", "_method")
            .or_else(|| word(self.header, "CompiledMethod", "_method"))?;
        let constant = word(method, "Method", "_constMethod")?;
        let pool = word(constant, "ConstMethod", "_constants")?;
        let index = word(constant, "ConstMethod", "_name_index")? & 0xFFFF;
        let entry = pool.checked_add(layout.sizes.get("ConstantPool")?.checked_add(8 * index)?)?;
        let class = word(word(pool, "ConstantPool", "_pool_holder")?, "Klass", "_name")?;
        let class = symbol(memory, layout, class)?.replace('/', ".");
        Some(format!("{class}.{}", symbol(memory, layout, memory.word(entry).ok()?)?))
    }
}

fn symbol(memory: &dyn Memory, layout: &Layout, address: u64) -> Option<String> {
    let length = memory.word(address.checked_add(layout.field("Symbol", "_length")?)?).ok()? as u16;
    let mut text = vec![0; usize::from(length.min(512))];
    memory.read(address.checked_add(layout.field("Symbol", "_body")?)?, &mut text).ok()?;
    String::from_utf8(text).ok()
}
