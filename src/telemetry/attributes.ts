/** Characters of a text in telemetry. Clients choose some of them, such as names of models. */
const MAX_TEXT = 256;

const SURROGATE = /[\ud800-\udfff]/;

/** Texts that are the same in JSON. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** A text in JSON, cut to its limit. Halves of surrogate pairs, which protobuf refuses, are replaced. */
export function jsonText(text: string): string {
  const short = text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text;
  if (PLAIN.test(short)) return `"${short}"`;
  return JSON.stringify(SURROGATE.test(short) ? Buffer.from(short).toString() : short);
}

const textValue = (text: string) => `{"stringValue":${jsonText(text)}}`;

/** Attributes as OTLP writes them in JSON. A value of null is left out. Keys contain nothing to escape. */
export class Attributes {
  #json = '';

  text(key: string, value: string | null | undefined): this {
    return value == null ? this : this.#add(key, textValue(value));
  }

  texts(key: string, values: readonly string[]): this {
    if (values.length === 0) return this;
    return this.#add(key, `{"arrayValue":{"values":[${values.map(textValue).join()}]}}`);
  }

  integer(key: string, value: number | null | undefined): this {
    return value == null ? this : this.#add(key, `{"intValue":"${value}"}`);
  }

  double(key: string, value: number | null | undefined): this {
    return value == null ? this : this.#add(key, `{"doubleValue":${value}}`);
  }

  /** Attributes of another list. */
  all(others: Attributes): this {
    const json = others.#json;
    if (json !== '') this.#json += this.#json === '' ? json : `,${json}`;
    return this;
  }

  /** A list in JSON. */
  toString(): string {
    return `[${this.#json}]`;
  }

  #add(key: string, value: string): this {
    const attribute = `{"key":"${key}","value":${value}}`;
    this.#json += this.#json === '' ? attribute : `,${attribute}`;
    return this;
  }
}
