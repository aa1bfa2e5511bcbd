/** Builds Exif blocks for tests in either byte order. Shares no code with the reader. */

export type Order = 'little' | 'big';

/** A directory entry: its type code, its stated number of values, and the bytes of the value. */
export interface Entry {
  type: number;
  count: number;
  bytes: readonly number[];
}

/** Entries by tag number; `pointers` are tags whose value is the offset of another directory. */
export interface Directory {
  entries: Readonly<Record<number, Entry>>;
  pointers?: Readonly<Record<number, Directory>>;
}

export class Writer {
  readonly order: Order;

  constructor(order: Order) {
    this.order = order;
  }

  whole(value: number, size: number): number[] {
    const bytes = Array.from({ length: size }, (_, index) =>
      Number((BigInt.asUintN(64, BigInt(value)) >> BigInt(8 * index)) & 255n),
    );
    return this.order === 'little' ? bytes : bytes.reverse();
  }

  ascii(text: string): Entry {
    const bytes = [...Buffer.from(text, 'utf8'), 0];
    return { type: 2, count: bytes.length, bytes };
  }

  bytes(...values: number[]): Entry {
    return { type: 1, count: values.length, bytes: values };
  }

  undefined(bytes: readonly number[]): Entry {
    return { type: 7, count: bytes.length, bytes };
  }

  shorts(...values: number[]): Entry {
    return { type: 3, count: values.length, bytes: values.flatMap((v) => this.whole(v, 2)) };
  }

  longs(...values: number[]): Entry {
    return { type: 4, count: values.length, bytes: values.flatMap((v) => this.whole(v, 4)) };
  }

  slongs(...values: number[]): Entry {
    return { ...this.longs(...values), type: 9 };
  }

  rationals(...values: (readonly [number, number])[]): Entry {
    const bytes = values.flat().flatMap((v) => this.whole(v, 4));
    return { type: 5, count: values.length, bytes };
  }

  srationals(...values: (readonly [number, number])[]): Entry {
    return { ...this.rationals(...values), type: 10 };
  }

  double(value: number): Entry {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setFloat64(0, value, this.order === 'little');
    return { type: 12, count: 1, bytes: [...bytes] };
  }

  /** The whole block, without prefix. */
  block(image: Directory): Uint8Array {
    const header = this.order === 'little' ? [0x49, 0x49, 42, 0] : [0x4d, 0x4d, 0, 42];
    return Uint8Array.from([...header, ...this.whole(8, 4), ...this.#directory(image, 8)]);
  }

  /** A directory that begins at `offset`, then its values, then the directories it points to. */
  #directory({ entries, pointers = {} }: Directory, offset: number): number[] {
    const tags = [...Object.keys(entries), ...Object.keys(pointers)].map(Number);
    tags.sort((one, other) => one - other);
    const head = this.whole(tags.length, 2);
    const tail: number[] = [];
    const start = offset + 2 + tags.length * 12 + 4;
    for (const tag of tags) {
      const target = pointers[tag];
      const place = start + tail.length;
      if (target !== undefined) {
        head.push(...this.whole(tag, 2), ...this.whole(4, 2), ...this.whole(1, 4));
        head.push(...this.whole(place, 4));
        tail.push(...this.#directory(target, place));
        continue;
      }
      const { type, count, bytes } = entries[tag]!;
      head.push(...this.whole(tag, 2), ...this.whole(type, 2), ...this.whole(count, 4));
      if (bytes.length <= 4) {
        head.push(...bytes, ...Array.from({ length: 4 - bytes.length }, () => 0));
      } else {
        head.push(...this.whole(place, 4));
        tail.push(...bytes);
      }
    }
    return [...head, ...this.whole(0, 4), ...tail];
  }
}
