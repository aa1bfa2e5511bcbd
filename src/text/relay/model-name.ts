import { isObject } from '../../schema/untrusted.ts';
import type { Json } from '../canonical/canonical.ts';
import type { Dialect } from '../dialects/dialect.ts';

const QUOTE = 0x22;
const SPACE = 0x20;

/**
 * Replaces the name of the model in an answer or an event, in place.
 *
 * @param paths where a dialect names the model
 * @returns whether the name was another
 */
export function renameModel(body: Json, paths: Dialect['modelPaths'], model: string): boolean {
  let renamed = false;
  for (const path of paths) {
    const own = path.length === 1 ? body : body[path[0]!];
    const member = path.at(-1)!;
    if (!isObject(own) || typeof own[member] !== 'string' || own[member] === model) continue;
    (own as Record<string, unknown>)[member] = model;
    renamed = true;
  }
  return renamed;
}

/** Replaces the name of the model in events, each of which names it, without parsing them. */
export class ChunkRenamer {
  /** The member as far as its value. */
  readonly #member: string;
  readonly #name: string;
  /** The first name that was replaced, in JSON; null for none. */
  replaced: string | null = null;

  /** @param member the name of the member that names the model */
  constructor(model: string, member: string) {
    this.#member = `"${member}":`;
    this.#name = Buffer.from(JSON.stringify(model)).toString('latin1');
  }

  /**
   * Replaces the value of the first such member of each frame. Inside a JSON string its quotes are
   * escaped, so that no text of an answer is taken for one.
   *
   * @param frames bytes of whole frames, as characters
   * @returns the same text where no name is another
   */
  rename(frames: string): string {
    let renamed = '';
    let copied = 0;
    const member = this.#member;
    let at = frames.indexOf(member);
    while (at !== -1) {
      let start = at + member.length;
      while (frames.charCodeAt(start) === SPACE) start += 1;
      const end = frames.charCodeAt(start) === QUOTE ? endOfText(frames, start) : -1;
      if (
        end !== -1 &&
        !(end - start === this.#name.length && frames.startsWith(this.#name, start))
      ) {
        renamed += frames.slice(copied, start) + this.#name;
        this.replaced ??= frames.slice(start, end);
        copied = end;
      }
      const next = frames.indexOf('data:', start);
      at = next === -1 ? -1 : frames.indexOf(member, next);
    }
    return copied === 0 ? frames : renamed + frames.slice(copied);
  }
}

/** Where a JSON text ends, its last quote included; -1 where it does not. @param start its first quote */
export function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return end + 1;
  }
  return -1;
}
