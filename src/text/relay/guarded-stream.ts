import { MIN_KEY_LENGTH, redactKeyInBody } from '../../routing/redaction.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { SplitKeyFilter } from './split-key.ts';

/** A client's stream from which the provider's key is redacted. */
export class GuardedStream implements FrameWriter {
  readonly #response: FrameWriter;
  readonly #secret: string | undefined;
  readonly #filter: SplitKeyFilter | null;
  readonly #change: ((frames: string | Buffer) => string | Buffer) | null;

  /** @param change changes frames before they are written */
  constructor(
    response: FrameWriter,
    secret: string | undefined,
    { textMembers }: Pick<Dialect, 'textMembers'>,
    change: ((frames: string | Buffer) => string | Buffer) | null = null,
  ) {
    this.#change = change;
    this.#response = response;
    this.#secret = secret;
    const isSecret = secret !== undefined && secret.length >= MIN_KEY_LENGTH;
    this.#filter = isSecret ? new SplitKeyFilter(secret, textMembers) : null;
  }

  write(frames: string | Buffer): boolean {
    const clean = redactKeyInBody(this.#change?.(frames) ?? frames, this.#secret);
    const ready = this.#filter === null ? clean : this.#filter.push(clean);
    return ready === null || this.#response.write(ready);
  }

  /** Returns the frames that end the stream, after those that were held back. */
  last(frames: string): string {
    const clean = redactKeyInBody(frames, this.#secret);
    return this.#filter === null ? clean : this.#filter.finish(clean);
  }

  drained(): Promise<void> {
    return this.#response.drained();
  }
}

/** Takes the frames of one answer. */
export interface FrameWriter {
  /** Writes frames. @returns false where the client is slow, until `drained` resolves */
  write(frames: string | Buffer): boolean;
  /** Resolves when the client has read what was written, or disconnects. */
  drained(): Promise<void>;
}

/** The stream of server-sent events to one client. */
export interface ResponseStream extends FrameWriter {
  /** Whether a frame has been written: later failures can only be events of the stream. */
  readonly started: boolean;
  /** Whether the client does not read what was written. */
  readonly isBlocked: boolean;
  /** Called at the first frame that is no sign of life. */
  onFirstFrame?: () => void;
  /** Sets a response header, or removes it; ignored once the stream has started. @param value null to remove it */
  setHeader(name: string, value: string | null): void;
}
