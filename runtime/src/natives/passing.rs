//! What rank 0 tells the other ranks of a native that it alone has run: the results, or the fault.
//!
//! A broadcast costs microseconds, whatever its length. So there is one of a fixed length, which is enough for numbers and short texts; a second one
//! has what does not fit; and the elements of each large array have one of their own, from where they are to where they are needed.
//!
//! The first one also names the native: ranks that have parted say so instead of taking results of something else.

use super::{Char, Handle, Of, Str, Value, foreign, string_array};
use crate::abi::{ElemTag, ObjectKind};
use crate::array::Array;
use crate::fault::{Code, Ending, Fault, Speaker};
use crate::ranks::{self, World};

/// Bytes of the first broadcast.
const FIRST: usize = 256;

/// Arrays of more bytes are not copied into the message.
const LARGE: usize = 16 << 10;

/// What other ranks have in the place of an object that only rank 0 has. Natives that look into objects are run by rank 0.
struct Elsewhere;

/// A message on its way out.
pub(super) struct Packet(Vec<u8>);

impl Packet {
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.0.extend_from_slice(&bytes);
    }

    pub(super) fn put_bytes(&mut self, bytes: &[u8]) {
        self.put((bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn put_extents(&mut self, shape: &[i64]) {
        self.put((shape.len() as u64).to_le_bytes());
        shape.iter().for_each(|extent| self.put(extent.to_le_bytes()));
    }
}

/// A message that has come, as far as it is not yet read.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) =
            self.0.split_at_checked(count).ok_or_else(|| Fault::here("a message from rank 0 is too short"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn get<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    fn length(&mut self) -> Result<usize, Fault> {
        usize::try_from(u64::from_le_bytes(self.get()?)).map_err(|_| Fault::here("a message from rank 0 is too long"))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        let length = self.length()?;
        self.take(length)
    }

    pub(super) fn extents(&mut self) -> Result<Vec<i64>, Fault> {
        let rank = self.length()?;
        (0..rank).map(|_| self.get().map(i64::from_le_bytes)).collect()
    }
}

/// Results that rank 0 passes on.
pub(super) trait Passed: Sized {
    fn pack(&self, packet: &mut Packet);
    fn unpack(reader: &mut Reader<'_>) -> Result<Self, Fault>;
    /// The large arrays among them, whose elements do not lie in the message. They are in the same order on all ranks.
    fn large(&mut self) -> Vec<&mut Array> {
        Vec::new()
    }
}

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl Passed for $ty {
            fn pack(&self, packet: &mut Packet) {
                packet.put(self.to_le_bytes());
            }
            fn unpack(reader: &mut Reader<'_>) -> Result<$ty, Fault> {
                reader.get().map(<$ty>::from_le_bytes)
            }
        }
    )*};
}
numbers!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

impl Passed for () {
    fn pack(&self, _: &mut Packet) {}
    fn unpack(_: &mut Reader<'_>) -> Result<(), Fault> {
        Ok(())
    }
}

impl Passed for bool {
    fn pack(&self, packet: &mut Packet) {
        u8::from(*self).pack(packet);
    }
    fn unpack(reader: &mut Reader<'_>) -> Result<bool, Fault> {
        Ok(u8::unpack(reader)? != 0)
    }
}

impl Passed for Char {
    fn pack(&self, packet: &mut Packet) {
        self.0.pack(packet);
    }
    fn unpack(reader: &mut Reader<'_>) -> Result<Char, Fault> {
        u8::unpack(reader).map(Char)
    }
}

fn bytes_of(array: &Array) -> usize {
    let view = array.view();
    view.count().saturating_mul(view.elem().size())
}

fn is_large(array: &Array) -> bool {
    matches!(array.view().kind(), ObjectKind::Array | ObjectKind::String) && bytes_of(array) > LARGE
}

/// Marks an array of strings, into which natives look on every rank. Other objects are marked by their kind.
const STRINGS: u8 = u8::MAX;

impl Passed for Array {
    fn pack(&self, packet: &mut Packet) {
        let view = self.view();
        match view.kind() {
            ObjectKind::Array | ObjectKind::String => {
                packet.put([view.kind() as u8, view.elem() as u8]);
                packet.put_extents(view.shape());
                if !is_large(self) {
                    packet.put_bytes(view.bytes().unwrap_or_default());
                }
            }
            ObjectKind::File | ObjectKind::Other => match string_array::parts(view) {
                None => packet.put([view.kind() as u8]),
                Some((shape, texts)) => {
                    packet.put([STRINGS]);
                    packet.put_extents(shape);
                    texts.for_each(|text| packet.put_bytes(text));
                }
            },
        }
    }

    fn unpack(reader: &mut Reader<'_>) -> Result<Array, Fault> {
        let kind = match u8::unpack(reader)? {
            STRINGS => {
                let shape = reader.extents()?;
                return string_array::from_parts(shape, || reader.bytes().map(<[u8]>::to_vec));
            }
            kind if kind == ObjectKind::Array as u8 => ObjectKind::Array,
            kind if kind == ObjectKind::String as u8 => ObjectKind::String,
            kind if kind == ObjectKind::File as u8 => return Array::opaque(ObjectKind::File, Elsewhere),
            _ => return Array::opaque(ObjectKind::Other, Elsewhere),
        };
        let elem = ElemTag::from_u8(u8::unpack(reader)?).filter(|elem| *elem != ElemTag::Handle);
        let elem = elem.ok_or_else(|| Fault::here("rank 0 cannot pass on an array of objects"))?;
        let mut array = Array::zeroed_as(kind, elem, &reader.extents()?)?;
        if !is_large(&array) {
            let bytes = reader.bytes()?;
            let elements = array.as_mut_bytes().filter(|elements| elements.len() == bytes.len());
            elements.ok_or_else(|| Fault::here("a message from rank 0 has too few elements"))?.copy_from_slice(bytes);
        }
        Ok(array)
    }

    fn large(&mut self) -> Vec<&mut Array> {
        if is_large(self) { vec![self] } else { Vec::new() }
    }
}

macro_rules! objects {
    ($([$($generics:tt)*] $ty:ty: $make:expr;)*) => {$(
        impl $($generics)* Passed for $ty {
            fn pack(&self, packet: &mut Packet) {
                self.0.pack(packet);
            }
            fn unpack(reader: &mut Reader<'_>) -> Result<Self, Fault> {
                Array::unpack(reader).map($make)
            }
            fn large(&mut self) -> Vec<&mut Array> {
                self.0.large()
            }
        }
    )*};
}
objects! {
    [] Str: Str;
    [] Handle: Handle;
    [<E>] Of<E>: Of::new;
}

impl<A: Passed, B: Passed> Passed for (A, B) {
    fn pack(&self, packet: &mut Packet) {
        self.0.pack(packet);
        self.1.pack(packet);
    }
    fn unpack(reader: &mut Reader<'_>) -> Result<(A, B), Fault> {
        Ok((A::unpack(reader)?, B::unpack(reader)?))
    }
    fn large(&mut self) -> Vec<&mut Array> {
        self.0.large().into_iter().chain(self.1.large()).collect()
    }
}

impl<A: Passed, B: Passed, C: Passed> Passed for (A, B, C) {
    fn pack(&self, packet: &mut Packet) {
        self.0.pack(packet);
        self.1.pack(packet);
        self.2.pack(packet);
    }
    fn unpack(reader: &mut Reader<'_>) -> Result<(A, B, C), Fault> {
        Ok((A::unpack(reader)?, B::unpack(reader)?, C::unpack(reader)?))
    }
    fn large(&mut self) -> Vec<&mut Array> {
        self.0.large().into_iter().chain(self.1.large()).chain(self.2.large()).collect()
    }
}

impl Passed for Value {
    fn pack(&self, packet: &mut Packet) {
        packet.put([self.tag() as u8]);
        match self {
            Value::Object(object) => object.pack(packet),
            scalar => foreign::word(scalar).pack(packet),
        }
    }
    fn unpack(reader: &mut Reader<'_>) -> Result<Value, Fault> {
        match ElemTag::from_u8(u8::unpack(reader)?) {
            Some(tag) if tag != ElemTag::Handle => Ok(foreign::value(u64::unpack(reader)?, Some(tag))),
            _ => Array::unpack(reader).map(Value::Object),
        }
    }
    fn large(&mut self) -> Vec<&mut Array> {
        match self {
            Value::Object(object) => object.large(),
            _ => Vec::new(),
        }
    }
}

impl<T: Passed> Passed for Vec<T> {
    fn pack(&self, packet: &mut Packet) {
        (self.len() as u64).pack(packet);
        self.iter().for_each(|value| value.pack(packet));
    }
    fn unpack(reader: &mut Reader<'_>) -> Result<Vec<T>, Fault> {
        let length = reader.length()?;
        (0..length).map(|_| T::unpack(reader)).collect()
    }
    fn large(&mut self) -> Vec<&mut Array> {
        self.iter_mut().flat_map(T::large).collect()
    }
}

impl Passed for Fault {
    fn pack(&self, packet: &mut Packet) {
        let (ending, status) = match self.ending {
            Ending::Error => (0, 0),
            Ending::User { status } => (1, status),
            Ending::Exit { status } => (2, status),
            Ending::Interrupted => (3, 0),
        };
        packet.put([ending]);
        status.pack(packet);
        // As texts of the compiler have it, so that the same function takes it off again.
        let code = self.code.map_or(String::new(), |code| format!("[{code}] "));
        packet.put_bytes(code.as_bytes());
        packet.put_bytes(self.message.as_bytes());
        (self.extents.len() as u64).pack(packet);
        for (slot, extent) in &self.extents {
            slot.pack(packet);
            extent.pack(packet);
        }
    }

    fn unpack(reader: &mut Reader<'_>) -> Result<Fault, Fault> {
        let (ending, status) = <(u8, i32)>::unpack(reader)?;
        let ending = match ending {
            0 => Ending::Error,
            1 => Ending::User { status },
            2 => Ending::Exit { status },
            _ => Ending::Interrupted,
        };
        let mut text = || Ok(String::from_utf8_lossy(reader.bytes()?).into_owned());
        let (code, message) = (Code::split(&text()?).0, text()?);
        let extents = <Vec<(u32, i64)>>::unpack(reader)?.into();
        // All ranks raise it.
        Ok(Fault { code, message, extents, ending, speaker: Speaker::Root })
    }
}

/// What is said of a call.
fn message<R: Passed>(name: &str, outcome: &Result<R, Fault>) -> Vec<u8> {
    let mut packet = Packet(Vec::with_capacity(FIRST));
    packet.put_bytes(name.as_bytes());
    outcome.is_ok().pack(&mut packet);
    match outcome {
        Ok(results) => results.pack(&mut packet),
        Err(fault) => fault.pack(&mut packet),
    }
    packet.0
}

/// The results in a message, but for the elements of large arrays; or the fault, which may be this rank's own.
fn understood<R: Passed>(name: &str, message: &[u8]) -> Result<R, Fault> {
    let mut reader = Reader(message);
    let other = String::from_utf8_lossy(reader.bytes()?);
    if other != name {
        return Err(Fault::here(format!("the ranks have parted: one calls {name} where rank 0 has called {other}")));
    }
    match bool::unpack(&mut reader)? {
        true => R::unpack(&mut reader),
        false => Err(Fault::unpack(&mut reader)?),
    }
}

/// Sends the elements of large arrays, or receives them.
fn exchange_large<R: Passed>(world: &World, results: &mut R) -> Result<(), Fault> {
    for array in results.large() {
        if array.as_mut_bytes().is_none() {
            // Somebody else has it too. MPI only reads it, but takes it like one that it writes to.
            *array = array.deep_copy()?;
        }
        world.broadcast(array.as_mut_bytes().unwrap_or_default())?;
    }
    Ok(())
}

/// Runs something on rank 0; all ranks have its results, or its fault.
pub(super) fn from_root<R: Passed>(name: &str, run: impl FnOnce() -> Result<R, Fault>) -> Result<R, Fault> {
    let Some(world) = ranks::here().filter(|_| !ranks::shared::is_in_chunk()) else {
        // Other ranks are elsewhere: nobody would answer.
        let text = format!(
            "{name} is run by rank 0 for all ranks, so a loop that several threads or ranks share cannot call it"
        );
        return Err(Fault::here(text));
    };
    let mut first = [0; FIRST];
    let (length, start) = first.split_at_mut(size_of::<u64>());
    if world.rank() == 0 {
        let mut outcome = run();
        let mut message = message(name, &outcome);
        length.copy_from_slice(&(message.len() as u64).to_le_bytes());
        let fits = message.len().min(start.len());
        start[..fits].copy_from_slice(&message[..fits]);
        world.broadcast(&mut first)?;
        if message.len() > fits {
            world.broadcast(&mut message[fits..])?;
        }
        if let Ok(results) = &mut outcome {
            exchange_large(world, results)?;
        }
        return outcome;
    }
    world.broadcast(&mut first)?;
    let mut reader = Reader(&first);
    let length = reader.length()?;
    let mut message = reader.0[..length.min(reader.0.len())].to_vec();
    let have = message.len();
    if length > have {
        message.try_reserve_exact(length - have).map_err(|_| Fault::here("out of memory for a message from rank 0"))?;
        message.resize(length, 0);
        world.broadcast(&mut message[have..])?;
    }
    let mut results: R = understood(name, &message)?;
    exchange_large(world, &mut results)?;
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed<R: Passed>(results: R) -> R {
        understood("f", &message("f", &Ok(results))).unwrap_or_else(|fault| panic!("{fault}"))
    }

    #[test]
    fn scalars_texts_and_arrays_come_as_they_went() {
        assert_eq!(passed((-3i32, 2.5f64, u64::MAX)), (-3, 2.5, u64::MAX));
        assert_eq!(passed((true, Char(200))), (true, Char(200)));
        let (number, text) = passed((7i32, Str::new(b"a\0b").expect("small")));
        assert_eq!((number, text.0.view().text()), (7, Some(&b"a\0b"[..])));
        assert_eq!(text.0.view().kind(), ObjectKind::String);
        for shape in [&[][..], &[0], &[3], &[2, 0, 3], &[2, 2]] {
            let count = shape.iter().product::<i64>();
            let elements: Vec<i16> = (0..count).map(|n| n as i16 - 1).collect();
            let array = passed(Array::from_slice(shape, &elements).expect("small"));
            assert_eq!((array.view().shape(), array.view().as_slice::<i16>()), (shape, Some(&elements[..])));
        }
        let empty = passed(Str::new(b"").expect("small"));
        assert_eq!(empty.0.view().text(), Some(&b""[..]));
    }

    #[test]
    fn elements_of_large_arrays_stay_out_of_the_message() {
        let array = Array::zeroed(ElemTag::F64, &[100, 1000]).expect("small");
        let message = message("f", &Ok(Of::<f64>::new(array)));
        assert!(message.len() < FIRST, "{}", message.len());
        let mut results: Of<f64> = understood("f", &message).expect("valid");
        assert_eq!(results.0.view().shape(), [100, 1000]);
        assert_eq!(results.large().len(), 1);
    }

    #[test]
    fn objects_are_of_the_same_kind_and_strings_have_their_texts() {
        let file = passed(Handle(Array::opaque(ObjectKind::File, 1i32).expect("small")));
        assert_eq!(file.0.view().kind(), ObjectKind::File);
        assert!(file.0.view().opaque::<i32>().is_none());
        let words: Vec<Vec<u8>> = vec![b"a".to_vec(), b"".to_vec(), b"long".to_vec()];
        let mut rest = words.clone().into_iter();
        let strings = string_array::from_parts(vec![3], || Ok(rest.next().unwrap_or_default())).expect("small");
        let strings = passed(strings);
        let (shape, texts) = string_array::parts(strings.view()).expect("strings");
        assert_eq!((shape, texts.map(<[u8]>::to_vec).collect::<Vec<_>>()), (&[3][..], words));
    }

    #[test]
    fn values_keep_their_types() {
        let values = vec![Value::I32(-5), Value::F32(0.5), Value::Bool(true), Value::string(b"x").expect("small")];
        let values = passed(values);
        assert!(matches!(values[..], [Value::I32(-5), Value::F32(0.5), Value::Bool(true), Value::Object(_)]));
    }

    #[test]
    fn faults_keep_code_message_extents_and_ending() {
        let faults = [
            crate::fault::index(7, 0, 3),
            Fault::new("[E0330] is no code here"),
            Fault { ending: Ending::User { status: 4 }, ..Fault::new("mine") },
            Fault { ending: Ending::Exit { status: -1 }, ..Fault::new("") },
        ];
        for fault in faults {
            let heard = understood::<i32>("f", &message::<i32>("f", &Err(fault.clone())));
            assert_eq!(heard, Err(fault));
        }
    }

    #[test]
    fn what_is_cut_off_or_of_another_native_is_a_fault() {
        let whole = message("f", &Ok((5i32, Str::new(b"text").expect("small"))));
        for length in 0..whole.len() {
            assert!(understood::<(i32, Str)>("f", &whole[..length]).is_err(), "{length}");
        }
        let parted = understood::<(i32, Str)>("g", &whole).err().map(|fault| fault.message);
        assert_eq!(parted.as_deref(), Some("the ranks have parted: one calls g where rank 0 has called f"));
    }
}
