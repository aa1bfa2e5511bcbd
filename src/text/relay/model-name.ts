import { isObject } from '../../schema/untrusted.ts';
import type { Json } from '../canonical.ts';

/** The member that names the model, as far as its value. */
const MEMBER = '"model":';

const QUOTE = 0x22;
const SPACE = 0x20;

/**
 * Puts another name of the model into an answer or an event, in place: responses and messages name it
 * within the object that an event is about.
 *
 * @returns whether the name was another
 */
export function renameModel(body: Json, model: string): boolean {
  let renamed = false;
  for (const own of [body, body['response'], body['message']]) {
    if (!isObject(own) || typeof own['model'] !== 'string' || own['model'] === model) continue;
    (own as Record<string, unknown>)['model'] = model;
    renamed = true;
  }
  return renamed;
}

/** Puts another name of the model into chunks of chat, each of which names it, without parsing them. */
export class ChunkRenamer {
  readonly #name: string;

  constructor(model: string) {
    this.#name = Buffer.from(JSON.stringify(model)).toString('latin1');
  }

  /**
   * Renames the first member `model` of each frame. Inside a text its quotes are escaped, so that no
   * answer can be taken for one.
   *
   * @param frames bytes of whole frames, as characters
   * @returns the same text where no name is another
   */
  rename(frames: string): string {
    let renamed = '';
    let copied = 0;
    let at = frames.indexOf(MEMBER);
    while (at !== -1) {
      let start = at + MEMBER.length;
      while (frames.charCodeAt(start) === SPACE) start += 1;
      const end = frames.charCodeAt(start) === QUOTE ? endOfText(frames, start) : -1;
      if (end !== -1 && !this.#isNamed(frames, start, end)) {
        renamed += frames.slice(copied, start) + this.#name;
        copied = end;
      }
      const next = frames.indexOf('data:', start);
      at = next === -1 ? -1 : frames.indexOf(MEMBER, next);
    }
    return copied === 0 ? frames : renamed + frames.slice(copied);
  }

  #isNamed(frames: string, start: number, end: number): boolean {
    return end - start === this.#name.length && frames.startsWith(this.#name, start);
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
