import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { Json } from '../canonical/canonical.ts';
import type { ResponseStream } from '../relay/guarded-stream.ts';
import { BLANK_LINE, dataIn, rewrittenFrame } from '../relay/relay.ts';

/** Events of a stream that have the whole response. */
const WITH_RESPONSE = /"response\.(?:created|queued|in_progress|completed|incomplete|failed)"/;

/** The events that have the response before its first output. */
const OPENING = /"response\.(?:created|queued|in_progress)"/;

/** Frames in which every response is replaced. */
export function withResponses(frames: string, change: (response: Json) => Json): string {
  return frames
    .split(BLANK_LINE)
    .map((frame) => {
      const event = WITH_RESPONSE.test(frame) ? tryParseJson(dataIn(frame)) : null;
      if (!isObject(event) || !isObject(event['response']))
        return frame === '' ? '' : `${frame}\n\n`;
      return rewrittenFrame(frame, { ...event, response: change(event['response']) });
    })
    .join('');
}

/** A client's stream whose opening events get another response. */
export class OpeningStream implements ResponseStream {
  readonly #response: ResponseStream;
  readonly #change: (response: Json) => Json;
  #isOpen = false;

  constructor(response: ResponseStream, change: (response: Json) => Json) {
    this.#response = response;
    this.#change = change;
  }

  get started(): boolean {
    return this.#response.started;
  }

  get isBlocked(): boolean {
    return this.#response.isBlocked;
  }

  setHeader(name: string, value: string | null): void {
    this.#response.setHeader(name, value);
  }

  write(frames: string | Buffer): boolean {
    if (this.#isOpen) return this.#response.write(frames);
    const text = frames.toString();
    const isOpening = OPENING.test(text);
    // They come together with the first output, after it nothing has to be searched.
    this.#isOpen = !isOpening && text.includes('"response.');
    return this.#response.write(isOpening ? withResponses(text, this.#change) : frames);
  }

  drained(): Promise<void> {
    return this.#response.drained();
  }
}
