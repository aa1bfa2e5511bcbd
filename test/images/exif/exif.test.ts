import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { basicExif, gpsPosition, readExif } from '../../../src/images/exif/exif.ts';
import { outsideFolder, SKIPPED } from '../../outside-material.ts';
import { runs } from '../../runs.ts';
import { type Directory, type Order, Writer } from './exif-block.ts';

const ORDERS: readonly Order[] = ['little', 'big'];
const PREFIX = [...Buffer.from('Exif\0\0', 'latin1')];

const TAG = { photo: 0x8769, gps: 0x8825, interop: 0xa005 };

/** The tags of a picture from a camera. */
function camera(writer: Writer): Directory {
  return {
    entries: {
      271: writer.ascii('Acme'),
      272: writer.ascii('Ösen 5'),
      274: writer.shorts(6),
      282: writer.rationals([72, 1]),
      305: writer.ascii('Firmware 1.2'),
      306: writer.ascii('2024:02:29 12:34:56'),
      315: writer.ascii('A. Artist'),
      33432: writer.ascii('A. Artist\0The Editor'),
    },
    pointers: {
      [TAG.photo]: {
        entries: {
          33434: writer.rationals([1, 160]),
          33437: writer.rationals([28, 10]),
          34855: writer.shorts(400),
          36864: writer.undefined([...Buffer.from('0232')]),
          36867: writer.ascii('2024:02:28 10:00:01'),
          36880: writer.ascii('+02:00'),
          36881: writer.ascii('-03:30'),
          37121: writer.undefined([1, 2, 3, 0]),
          37380: writer.srationals([-1, 3]),
          37385: writer.shorts(25),
          37386: writer.rationals([50, 1]),
          37500: writer.undefined(Array.from({ length: 900 }, (_, i) => i % 256)),
          37510: writer.undefined([...Buffer.from('ASCII\0\0\0a comment\0')]),
          42034: writer.rationals([18, 1], [55, 1], [0, 0], [0, 0]),
          42036: writer.ascii('Acme 18-55'),
        },
        pointers: {
          [TAG.interop]: {
            entries: { 1: writer.ascii('R98'), 2: writer.undefined([...Buffer.from('0100')]) },
          },
        },
      },
      [TAG.gps]: {
        entries: {
          0: writer.bytes(2, 3, 0, 0),
          1: writer.ascii('S'),
          2: writer.rationals([33, 1], [51, 1], [3588, 100]),
          3: writer.ascii('E'),
          4: writer.rationals([151, 1], [12, 1], [3996, 100]),
          5: writer.bytes(1),
          6: writer.rationals([125, 10]),
          7: writer.rationals([5, 1], [6, 1], [79, 10]),
          29: writer.ascii('2024:02:28'),
        },
      },
    },
  };
}

const PLAIN = { image: {}, photo: {}, gps: {}, interop: {} };

/** The value that is read from one entry in IFD0. */
function imageTags(make: (writer: Writer) => Directory['entries'], order: Order = 'little') {
  const writer = new Writer(order);
  return readExif(writer.block({ entries: make(writer) }))?.image;
}

function gpsTags(make: (writer: Writer) => Directory['entries']) {
  const writer = new Writer('big');
  return readExif(
    writer.block({ entries: {}, pointers: { [TAG.gps]: { entries: make(writer) } } }),
  )!;
}

describe.each(ORDERS)('a block in %s endian order', (order) => {
  const block = new Writer(order).block(camera(new Writer(order)));

  it('is read with names and plain values of all tags', () => {
    expect(readExif(block)).toEqual({
      image: {
        Make: 'Acme',
        Model: 'Ösen 5',
        Orientation: 6,
        XResolution: 72,
        Software: 'Firmware 1.2',
        DateTime: '2024-02-29T12:34:56+02:00',
        Artist: 'A. Artist',
        Copyright: 'A. Artist; The Editor',
      },
      photo: {
        ExposureTime: 1 / 160,
        FNumber: 2.8,
        PhotographicSensitivity: 400,
        ExifVersion: '0232',
        DateTimeOriginal: '2024-02-28T10:00:01-03:30',
        OffsetTime: '+02:00',
        OffsetTimeOriginal: '-03:30',
        ComponentsConfiguration: [1, 2, 3, 0],
        ExposureBiasValue: -1 / 3,
        Flash: 25,
        FocalLength: 50,
        MakerNote: '(900 bytes)',
        UserComment: 'a comment',
        LensSpecification: [18, 55, null, null],
        LensModel: 'Acme 18-55',
      },
      gps: {
        GPSVersionID: '2.3.0.0',
        GPSLatitudeRef: 'S',
        GPSLatitude: [33, 51, 35.88],
        GPSLongitudeRef: 'E',
        GPSLongitude: [151, 12, 39.96],
        GPSAltitudeRef: 1,
        GPSAltitude: 12.5,
        GPSTimeStamp: [5, 6, 7.9],
        GPSDateStamp: '2024-02-28',
      },
      interop: { InteroperabilityIndex: 'R98', InteroperabilityVersion: '0100' },
    });
  });

  it('is read after its prefix and at an odd offset of a larger buffer', () => {
    const prefixed = Uint8Array.from([...PREFIX, ...block]);
    expect(readExif(prefixed)).toEqual(readExif(block));
    const larger = Uint8Array.from([0xff, ...prefixed, 0xff]);
    expect(readExif(larger.subarray(1, -1))).toEqual(readExif(block));
  });

  it('has basic tags', () => {
    expect(basicExif(readExif(block)!)).toEqual({
      make: 'Acme',
      model: 'Ösen 5',
      lens: 'Acme 18-55',
      software: 'Firmware 1.2',
      dateTime: '2024-02-28T10:00:01-03:30',
      exposureTime: 1 / 160,
      fNumber: 2.8,
      iso: 400,
      focalLength: 50,
      flash: true,
      orientation: 6,
      copyright: 'A. Artist; The Editor',
      artist: 'A. Artist',
    });
  });

  it('has a GPS position', () => {
    expect(gpsPosition(readExif(block)!)).toEqual({
      latitude: -33.8599667,
      longitude: 151.2111,
      altitude: -12.5,
      timestamp: '2024-02-28T05:06:07Z',
    });
  });

  it('can be truncated at any byte', () => {
    const whole = readExif(block)!;
    for (let length = 0; length < block.length; length += 1) {
      const tags = readExif(block.subarray(0, length));
      expect(tags === null).toBe(length < 10);
      for (const directory of ['photo', 'gps', 'interop'] as const) {
        expect(Object.keys(whole[directory])).toEqual(
          expect.arrayContaining(Object.keys(tags?.[directory] ?? {})),
        );
      }
    }
  });
});

describe('readExif of bytes that are no Exif block', () => {
  const good = [0x49, 0x49, 42, 0, 8, 0, 0, 0, 0, 0];

  it('returns null, unlike for an empty block', () => {
    expect(readExif(Uint8Array.from(good))).toEqual(PLAIN);
  });

  it.each([
    ['nothing', []],
    ['a prefix alone', PREFIX],
    ['other text', [...Buffer.from('<x:xmpmeta xmlns:x="adobe:ns:meta/">')]],
    ['mixed byte order marks', [0x49, 0x4d, ...good.slice(2)]],
    ['another magic number', good.with(2, 43)],
    ['a first directory inside the header', good.with(4, 4)],
    ['a first directory beyond the end', good.with(4, 9)],
    ['a cut header', good.slice(0, 7)],
  ])('returns null: %s', (_, bytes) => {
    expect(readExif(Uint8Array.from(bytes))).toBeNull();
  });
});

describe('values of tags', () => {
  it('of every numeric type become numbers', () => {
    for (const order of ORDERS) {
      const tags = imageTags(
        (writer) => ({
          1: writer.bytes(200),
          2: { type: 6, count: 2, bytes: [0xff, 0x7f] },
          3: writer.shorts(65535, 1, 2),
          4: { type: 8, count: 1, bytes: writer.whole(-2, 2) },
          5: writer.longs(4294967295),
          6: writer.slongs(-2147483648),
          7: writer.rationals([4294967295, 2]),
          8: writer.srationals([1, -4]),
          9: writer.double(Math.PI),
          10: { type: 11, count: 1, bytes: writer.whole(0x3fc00000, 4) },
          12: { type: 13, count: 1, bytes: writer.whole(77, 4) },
        }),
        order,
      );
      expect(tags).toEqual({
        '0x0001': 200,
        '0x0002': [-1, 127],
        '0x0003': [65535, 1, 2],
        '0x0004': -2,
        '0x0005': 4294967295,
        '0x0006': -2147483648,
        '0x0007': 2147483647.5,
        '0x0008': -0.25,
        '0x0009': Math.PI,
        '0x000a': 1.5,
        '0x000c': 77,
      });
    }
  });

  it('that JSON cannot represent become null', () => {
    const tags = imageTags((writer) => ({
      1: writer.rationals([1, 0]),
      2: writer.rationals([0, 0]),
      3: writer.double(Number.NaN),
      4: writer.double(Number.NEGATIVE_INFINITY),
      5: writer.srationals([0, -1]),
    }));
    expect(tags).toEqual({
      '0x0001': null,
      '0x0002': null,
      '0x0003': null,
      '0x0004': null,
      '0x0005': 0,
    });
    expect(Object.is(tags?.['0x0005'], 0)).toBe(true);
  });

  it('of unknown type, without members or beyond the end are skipped', () => {
    const tags = imageTags((writer) => ({
      1: { type: 99, count: 1, bytes: [1] },
      2: { type: 3, count: 0, bytes: [] },
      3: { type: 4, count: 2, bytes: writer.whole(0xfffffff0, 4) },
      4: { type: 5, count: 0xffffffff, bytes: writer.whole(8, 4) },
      5: writer.shorts(5),
    }));
    expect(tags).toEqual({ '0x0005': 5 });
  });

  it('are those of the first entry if a tag is repeated', () => {
    const writer = new Writer('little');
    const block = writer.block({ entries: { 272: writer.shorts(1), 273: writer.shorts(2) } });
    block.set(writer.whole(0x0110, 2), 10 + 12);
    expect(readExif(block)?.image).toEqual({ Model: 1 });
  });

  it('that are long or opaque are returned as their size', () => {
    const many = Array.from({ length: 65 }, (_, index) => index);
    expect(
      imageTags((writer) => ({
        1: writer.shorts(...many),
        2: writer.bytes(...many),
        3: writer.shorts(...many.slice(1)),
        4: writer.undefined([1, 2]),
        700: writer.bytes(60, 120),
        50341: writer.ascii('PrintIM'),
      })),
    ).toEqual({
      '0x0001': '(65 values)',
      '0x0002': '(65 bytes)',
      '0x0003': many.slice(1),
      '0x0004': '(2 bytes)',
      XMLPacket: '(2 bytes)',
      PrintImageMatching: '(8 bytes)',
    });
  });
});

describe('text of tags', () => {
  const make = (bytes: readonly number[] | Buffer) =>
    imageTags(() => ({ 271: { type: 2, count: bytes.length, bytes: [...bytes] } }))?.['Make'];

  it.each([
    ['ends at the first NUL', Buffer.from('Acme\0garbage\0'), 'Acme'],
    ['needs no NUL', Buffer.from('Acme Inc'), 'Acme Inc'],
    ['loses spaces around it', Buffer.from('  Acme   \0'), 'Acme'],
    ['may be UTF-8', Buffer.from('Ünïcödé 写真\0'), 'Ünïcödé 写真'],
    ['may be Latin-1', Buffer.from('© José\0', 'latin1'), '© José'],
    ['cannot steer a terminal', Buffer.from('a\u001b[31mb\r\nc\u0007\u009bd\0'), 'a [31mb c d'],
    ['cannot turn its direction', Buffer.from('a\u202egpj.exe\u2066\0'), 'a gpj.exe'],
    ['is left out when empty', Buffer.from('     \0'), undefined],
  ])('is decoded: %s', (_, bytes, text) => {
    expect(make(bytes)).toBe(text);
  });

  it('is truncated if long, but not within a character', () => {
    const text = make(Buffer.from(`${'x'.repeat(4095)}é and more\0`));
    expect(text).toBe('x'.repeat(4095));
  });

  it('of type UTF-8 is decoded as UTF-8', () => {
    const bytes = [...Buffer.from('写真\0')];
    expect(imageTags(() => ({ 271: { type: 129, count: bytes.length, bytes } }))).toEqual({
      Make: '写真',
    });
  });

  it('of Windows tags is little-endian UTF-16 in any block', () => {
    const bytes = [...Buffer.from('Tïtle\0', 'utf16le')];
    for (const order of ORDERS) {
      expect(imageTags((writer) => ({ 40091: writer.bytes(...bytes) }), order)).toEqual({
        XPTitle: 'Tïtle',
      });
    }
  });

  it.each<[string, Order, Buffer, string | undefined]>([
    ['ASCII', 'big', Buffer.from('ASCII\0\0\0hello  \0'), 'hello'],
    ['nothing', 'big', Buffer.from('\0\0\0\0\0\0\0\0hellö'), 'hellö'],
    ['nothing, and has nothing', 'big', Buffer.from('\0\0\0\0\0\0\0\0\0\0'), undefined],
    ['Unicode, little', 'little', Buffer.from('UNICODE\0h\0é\0', 'latin1'), 'hé'],
    ['Unicode, big', 'big', Buffer.from('UNICODE\0\0h\0é', 'latin1'), 'hé'],
    ['Unicode, marked', 'big', Buffer.from('UNICODE\0\xff\xfeh\0é\0', 'latin1'), 'hé'],
    ['Unicode, marked big', 'little', Buffer.from('UNICODE\0\xfe\xff\0h\0é', 'latin1'), 'hé'],
    ['JIS', 'big', Buffer.from('JIS\0\0\0\0\0\x1b$B<L??\x1b(B', 'latin1'), '写真'],
    ['no code at all', 'big', Buffer.from('taken by hand'), 'taken by hand'],
    ['no code, and short', 'big', Buffer.from('short'), 'short'],
  ])('after a character code is decoded: %s', (_, order, bytes, text) => {
    const tags = imageTags((writer) => ({ 37510: writer.undefined([...bytes]) }), order);
    expect(tags?.['UserComment']).toBe(text);
  });
});

describe('dates of tags', () => {
  const dateTime = (date: string, offset?: string) => {
    const writer = new Writer('big');
    const entries = offset === undefined ? {} : { 36881: writer.ascii(offset) };
    const photo = { entries: { 36867: writer.ascii(date), ...entries } };
    const tags = readExif(writer.block({ entries: {}, pointers: { [TAG.photo]: photo } }));
    return tags?.photo['DateTimeOriginal'];
  };

  it.each([
    ['2024:02:29 23:59:59', '2024-02-29T23:59:59'],
    ['2024-12-31 00:00:00', '2024-12-31T00:00:00'],
    ['2024:12:31T00:00:00', '2024-12-31T00:00:00'],
    ['2016:12:31 23:59:60', '2016-12-31T23:59:60'],
    ['2023:02:29 12:00:00', undefined],
    ['2024:13:01 12:00:00', undefined],
    ['2024:00:10 12:00:00', undefined],
    ['2024:04:31 12:00:00', undefined],
    ['2024:04:30 24:00:00', undefined],
    ['0000:00:00 00:00:00', undefined],
    ['    :  :     :  :  ', undefined],
    ['last summer', undefined],
  ])('%j are converted to ISO 8601', (text, date) => {
    expect(dateTime(text)).toBe(date);
  });

  it.each([
    ['+05:45', '2024-01-02T03:04:05+05:45'],
    ['Z', '2024-01-02T03:04:05Z'],
    ['+5', '2024-01-02T03:04:05'],
    ['   :  ', '2024-01-02T03:04:05'],
    ['+99:00', '2024-01-02T03:04:05'],
  ])('get the offset %j', (offset, date) => {
    expect(dateTime('2024:01:02 03:04:05', offset)).toBe(date);
  });

  it('of another type than text are left out', () => {
    expect(imageTags((writer) => ({ 306: writer.shorts(2024) }))).toEqual({});
  });
});

describe('basicExif', () => {
  const basics = (make: (writer: Writer) => Directory['entries']) => {
    const writer = new Writer('little');
    return basicExif(readExif(writer.block({ entries: make(writer) }))!);
  };

  it('is empty if no tag is known', () => {
    expect(basics(() => ({}))).toEqual({});
  });

  it('ignores values of the wrong type', () => {
    expect(
      basics((writer) => ({
        271: writer.shorts(3),
        274: writer.shorts(9),
        33434: writer.rationals([1, 0]),
        33437: writer.ascii('f/2'),
        37386: writer.rationals([0, 1]),
      })),
    ).toEqual({});
  });

  it('has the date of digitising, or else of changing, if that of taking is missing', () => {
    const changed = (writer: Writer) => ({ 306: writer.ascii('2020:01:01 00:00:00') });
    const digitised = (writer: Writer) => ({
      ...changed(writer),
      36868: writer.ascii('2019:01:01 00:00:00'),
    });
    expect(basics(changed)).toEqual({ dateTime: '2020-01-01T00:00:00' });
    expect(basics(digitised)).toEqual({ dateTime: '2019-01-01T00:00:00' });
  });

  it('has a high sensitivity from a long tag', () => {
    const high = { type: 4, count: 1, bytes: [0, 144, 1, 0] };
    expect(basics((w) => ({ 34855: w.shorts(65535), 34866: high })).iso).toBe(102400);
    expect(basics((w) => ({ 34855: w.shorts(65535) })).iso).toBe(65535);
    expect(basics((w) => ({ 34855: w.shorts(200, 0) })).iso).toBe(200);
  });

  it('distinguishes a flash that did not fire from an unknown one', () => {
    expect(basics((w) => ({ 37385: w.shorts(16) }))).toEqual({ flash: false });
    expect(basics((w) => ({ 37385: w.shorts(0) }))).toEqual({ flash: false });
    expect(basics((w) => ({ 37385: w.shorts(1) }))).toEqual({ flash: true });
  });
});

describe('gpsPosition', () => {
  /** Degrees, minutes and seconds as fractions: '45/1 30/1 0/1'. */
  const angle = (text: string) =>
    text.split(' ').map((part) => part.split('/').map(Number) as [number, number]);
  const at = (latitude: string, longitude: string, north = 'N', east = 'E') =>
    gpsPosition(
      gpsTags((writer) => ({
        1: writer.ascii(north),
        2: writer.rationals(...angle(latitude)),
        3: writer.ascii(east),
        4: writer.rationals(...angle(longitude)),
      })),
    );
  const origin = '0/1 0/1 0/1';

  it.each([
    ['degrees alone', '455/10', 45.5],
    ['degrees and minutes', '45/1 305/10', 45.5083333],
    ['seconds without value', '45/1 30/1 0/0', 45.5],
    ['the pole', '90/1 0/1 0/1', 90],
  ])('has degrees from %s', (_, latitude, degrees) => {
    expect(at(latitude, origin)).toEqual({ latitude: degrees, longitude: 0 });
  });

  it('is negative in the south and the west, but never minus zero', () => {
    expect(at('1/1', '2/1', 'S', 'W')).toEqual({ latitude: -1, longitude: -2 });
    expect(at('1/1', '2/1', 'south', 'w')).toEqual({ latitude: -1, longitude: -2 });
    expect(Object.is(at(origin, origin, 'S', 'W')?.latitude, 0)).toBe(true);
  });

  it.each<[string, ReturnType<typeof at>]>([
    ['beyond the pole', at('90/1 0/1 1/1', origin)],
    ['beyond the date line', at(origin, '180/1 1/1')],
    ['without degrees', at('0/0 0/0 0/0', origin)],
    ['without a hemisphere', at('1/1', '1/1', '', 'E')],
    ['of an unknown hemisphere', at('1/1', '1/1', 'N', 'N')],
    ['of a block without any', gpsPosition({ ...PLAIN })],
  ])('is null %s', (_, position) => {
    expect(position).toBeNull();
  });

  it('is null for negative degrees', () => {
    const tags = gpsTags((writer) => ({
      1: writer.ascii('N'),
      2: writer.srationals([-5, 1], [0, 1], [0, 1]),
      3: writer.ascii('E'),
      4: writer.rationals([5, 1]),
    }));
    expect(gpsPosition(tags)).toBeNull();
  });

  it('has altitude and time only if they are valid', () => {
    const place = (writer: Writer) => ({
      1: writer.ascii('N'),
      2: writer.rationals([1, 1]),
      3: writer.ascii('E'),
      4: writer.rationals([1, 1]),
    });
    const position = (make: (writer: Writer) => Directory['entries']) =>
      gpsPosition(gpsTags((writer) => ({ ...place(writer), ...make(writer) })));
    const plain = { latitude: 1, longitude: 1 };
    expect(position((w) => ({ 6: w.rationals([0, 0]) }))).toEqual(plain);
    expect(position((w) => ({ 6: w.rationals([5, 2]) }))).toEqual({ ...plain, altitude: 2.5 });
    const day = (w: Writer) => ({ 29: w.ascii('2024:01:02') });
    expect(position(day)).toEqual(plain);
    expect(position((w) => ({ ...day(w), 7: w.rationals([24, 1], [0, 1], [0, 1]) }))).toEqual(
      plain,
    );
    expect(position((w) => ({ ...day(w), 7: w.rationals([1, 1], [2, 1], [3, 1]) }))).toEqual({
      ...plain,
      timestamp: '2024-01-02T01:02:03Z',
    });
  });
});

describe('hostile Exif bytes', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** Counts the numbers read and the bytes of text decoded while a block is read. */
  function workOf(block: Uint8Array): { reads: number; decoded: number } {
    const getters = ['Uint8', 'Int8', 'Uint16', 'Int16', 'Uint32', 'Int32', 'Float32', 'Float64'];
    const spies = getters.map((type) => vi.spyOn(DataView.prototype, `get${type}` as 'getUint8'));
    const decode = vi.spyOn(TextDecoder.prototype, 'decode');
    readExif(block);
    const reads = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
    const decoded = decode.mock.calls.reduce(
      (sum, [bytes]) => sum + (bytes instanceof Uint8Array ? bytes.length : 0),
      0,
    );
    vi.restoreAllMocks();
    return { reads, decoded };
  }

  function expectBounded(block: Uint8Array): void {
    const { reads, decoded } = workOf(block);
    // Four directories at most, of at most a twelfth of the block each, four reads an entry; and
    // each byte of a value once, as text at most twice.
    expect(reads).toBeLessThanOrEqual(3 * block.length + 50);
    expect(decoded).toBeLessThanOrEqual(2 * block.length + 50);
    expect(JSON.stringify(readExif(block)).length).toBeLessThanOrEqual(12 * block.length + 100);
  }

  /** One directory with `count` entries that all refer to the same text at the end of the block. */
  function crowd(order: Order, entries: number, type: number, count: number): Uint8Array {
    const writer = new Writer(order);
    const head = order === 'little' ? [0x49, 0x49, 42, 0] : [0x4d, 0x4d, 0, 42];
    const bytes = [...head, ...writer.whole(8, 4), ...writer.whole(entries, 2)];
    for (let tag = 0; tag < entries; tag += 1) {
      bytes.push(...writer.whole(tag, 2), ...writer.whole(type, 2), ...writer.whole(count, 4));
      bytes.push(...writer.whole(10 + entries * 12, 4));
    }
    // Invalid UTF-8, so that it is decoded twice.
    return Uint8Array.from([...bytes, ...Array.from({ length: 8000 }, () => 0xe9)]);
  }

  it.each([
    ['text', 2, 8000],
    ['short text', 2, 400],
    ['bytes', 1, 64],
    ['fractions', 5, 64],
    ['fractions by the thousand', 5, 1000],
    ['opaque bytes', 7, 8000],
  ])('whose entries repeat the same offset as %s are read in linear time', (_, type, count) => {
    for (const order of ORDERS) expectBounded(crowd(order, 4000, type, count));
  });

  it('with directories that point to each other are read once each', () => {
    for (const order of ORDERS) {
      const writer = new Writer(order);
      const block = writer.block(camera(writer));
      const view = new DataView(block.buffer);
      const little = order === 'little';
      for (let place = 10; place + 12 <= block.length; place += 1) {
        const tag = view.getUint16(place, little);
        const pointer = Object.values(TAG).includes(tag) && view.getUint16(place + 2, little) === 4;
        if (pointer) view.setUint32(place + 8, 8, little);
      }
      const tags = readExif(block)!;
      expect(tags.image['Make']).toBe('Acme');
      expect(tags).toMatchObject({ photo: {}, gps: {}, interop: {} });
      expect(Object.keys(tags.photo)).toEqual([]);
      expectBounded(block);
    }
  });

  it('with fractional pointers have no further directories', () => {
    const writer = new Writer('little');
    const entries = {
      [TAG.photo]: writer.double(8.5),
      [TAG.gps]: writer.longs(8, 8),
      271: writer.ascii('Acme'),
    };
    expect(readExif(writer.block({ entries }))).toEqual({ ...PLAIN, image: { Make: 'Acme' } });
  });

  /** Values round-trip through JSON and have no control characters. */
  function expectHarmless(block: Uint8Array): void {
    const before = block.slice();
    const tags = readExif(block);
    expect(block).toEqual(before);
    if (tags === null) return;
    const json = JSON.stringify(tags);
    expect(JSON.parse(json)).toEqual(tags);
    expect(json).not.toMatch(/[\p{Cc}\u2028-\u202e\u2066-\u2069]|\\u00[01]/u);
    expect(json.length).toBeLessThanOrEqual(12 * block.length + 100);
    const basics = basicExif(tags);
    expect(JSON.parse(JSON.stringify(basics))).toEqual(basics);
    const position = gpsPosition(tags);
    if (position === null) return;
    expect(Math.abs(position.latitude)).toBeLessThanOrEqual(90);
    expect(Math.abs(position.longitude)).toBeLessThanOrEqual(180);
  }

  it('of any kind do not throw', () => {
    const header = fc.constantFrom(
      [],
      PREFIX,
      [0x49, 0x49, 42, 0, 8, 0, 0, 0],
      [...PREFIX, ...[0x4d, 0x4d, 0, 42, 0, 0, 0, 8]],
    );
    fc.assert(
      fc.property(header, fc.uint8Array({ maxLength: 600 }), (start, rest) => {
        expectHarmless(Uint8Array.from([...start, ...rest]));
      }),
      { numRuns: runs(1000) },
    );
  });

  it('within a valid block do not throw', () => {
    const change = fc.record({
      place: fc.nat(),
      bytes: fc.oneof(
        fc.uint8Array({ minLength: 1, maxLength: 8 }),
        fc.constantFrom([0xff, 0xff, 0xff, 0xff], [0, 0, 0, 8], [8, 0, 0, 0], [0x80, 0, 0, 0]),
      ),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...ORDERS),
        fc.array(change, { minLength: 1, maxLength: 12 }),
        fc.option(fc.nat(), { nil: undefined }),
        (order, changes, cut) => {
          const writer = new Writer(order);
          const block = writer.block(camera(writer));
          for (const { place, bytes } of changes) {
            for (const [index, byte] of bytes.entries()) {
              block[(place + index) % block.length] = byte;
            }
          }
          const end = cut === undefined ? block.length : cut % block.length;
          expectHarmless(block.subarray(0, end));
        },
      ),
      { numRuns: runs(1500) },
    );
  });
});

describe('a picture from a camera', () => {
  const images = outsideFolder('images');

  /** The payload of the first Exif segment. */
  function exifOf(jpeg: Uint8Array): Uint8Array {
    const view = new DataView(jpeg.buffer, jpeg.byteOffset, jpeg.length);
    for (let place = 2; view.getUint8(place) === 0xff; place += 2 + view.getUint16(place + 2)) {
      if (view.getUint8(place + 1) !== 0xe1) continue;
      const payload = jpeg.subarray(place + 4, place + 2 + view.getUint16(place + 2));
      if (PREFIX.every((byte, index) => payload[index] === byte)) return payload;
    }
    throw new Error('no Exif segment');
  }

  it('has position and exposure', ({ skip }) => {
    if (!images.isPresent) skip(SKIPPED);
    const tags = readExif(exifOf(readFileSync(images.path('jpeg-gps.jpg'))))!;
    const position = gpsPosition(tags)!;
    expect(position.latitude).toBeCloseTo(43.46745, 4);
    expect(position.longitude).toBeCloseTo(11.88513, 4);
    expect(position.timestamp).toBe('2008-10-23T14:27:07Z');
    expect(basicExif(tags)).toEqual({
      make: 'NIKON',
      model: 'COOLPIX P6000',
      software: 'Nikon Transfer 1.1 W',
      dateTime: '2008-10-22T16:28:39',
      exposureTime: 4 / 300,
      fNumber: 5.9,
      iso: 64,
      focalLength: 24,
      flash: false,
      orientation: 1,
    });
    expect(tags.photo['MakerNote']).toMatch(/^\(\d+ bytes\)$/);
  });
});
