import { Failure } from '../../failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject, nonEmptyTextOf, objectOf } from '../../schema/untrusted.ts';
import type { Trace } from '../../telemetry/trace.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import type { UsageTracker } from '../billing/usage-tracker.ts';
import type { Json } from '../canonical/canonical.ts';
import type { Usage } from '../canonical/events.ts';
import { invalidAnswer, truncatedAnswer } from '../dialects/answer-errors.ts';
import type { Dialect, EncodeContext, Observation } from '../dialects/dialect.ts';
import type { Drain } from './drains.ts';
import type { FrameWriter } from './guarded-stream.ts';
import { ChunkRenamer, renameModel } from './model-name.ts';
import { DONE, dataOf, FrameStream, isWhole } from './sse.ts';
import { readUntil } from './upstream-response.ts';

/** Bytes that are kept back until there is output: events before it may repeat the request's tools. */
const MAX_HELD_BYTES = 1024 * 1024;

const DATA_LINE = /(?:^|[\r\n])data/;

/** A line of data that does not begin and end as a JSON object: parsing an event takes 1 µs, this 0.2. */
const NO_OBJECT = /^data(?!: ?\{.*\}$)/m;

const END_OF_LINE = /\r\n|\n|\r/;

/** What ends a frame: a blank line, however the lines before and after it end. */
export const BLANK_LINE = /(?:\r\n|\n|\r(?!\n)){2}/;

interface RelayOptions {
  readonly dialect: Dialect;
  readonly context: EncodeContext;
  /** The model that answers name; null for the upstream's own name. */
  readonly model: string | null;
  readonly response: FrameWriter;
  readonly drain: Pick<Drain, 'count'>;
  readonly tracker: UsageTracker;
  /** Null where the request is not traced. */
  readonly trace: Trace | null;
  /** Called with the whole answer where the stream's last event has it. */
  readonly onAnswer: (answer: Json) => void;
  /** Removes from a failure what clients must not see. */
  readonly clean: (failure: Failure) => Failure;
}

/**
 * Passes a stream on to a client of the upstream's own dialect: whole frames, as they came but for the
 * model's name, as soon as they are there. Frames before the first output are kept back, since many
 * providers report a failure after them, and another route can then still answer. Only frames with a marker are parsed: those with usage, an
 * end, a failure or, outside chat, the model. Those that end the stream are kept, to be sent once the
 * answer is charged.
 */
export class Relay {
  /** The failure that ended the stream. */
  failure: Failure | null = null;
  /** Frames that end the stream. */
  end = '';
  readonly #options: RelayOptions;
  readonly #chunks: ChunkRenamer | null;
  /** Answers whose end has not come yet. */
  #open: number;
  readonly #frames = new FrameStream();
  /** Whether the stream has ended; later frames are ignored. */
  #ended = false;
  /** Whether the model has finished all answers. */
  #finished = false;
  /** The event that has only usage, which is sent with the end, once the answer is charged. */
  #tail = '';
  /** Whether a frame was passed on, so that no other route can answer. */
  committed = false;
  /** Whether the answer has output, or its end. */
  #hasOutput = false;
  /** Whether the list of the model's output had an item. */
  #hasChoice = false;
  readonly #choice: RegExp;
  /** Frames before the first output. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** The last frame that was passed on: frames that end the stream continue its sequence numbers. */
  #last: Buffer | string = '';
  /** The first event with a marker. */
  #first: Json | null = null;
  /** The usage in events so far. */
  #usage: Usage | null = null;

  constructor(options: RelayOptions) {
    this.#options = options;
    const { dialect, context, model } = options;
    const [path, ...others] = dialect.modelPaths;
    this.#chunks =
      model !== null && path!.length === 1 && others.length === 0
        ? new ChunkRenamer(model, path![0]!)
        : null;
    this.#open = context.request.n ?? 1;
    this.#choice = new RegExp(`"${dialect.answerKey}"\\s*:\\s*\\[\\s*[^\\]\\s]`);
  }

  async run(exchange: UpstreamResponse): Promise<void> {
    const { response, drain } = this.#options;
    await readUntil(
      exchange,
      response,
      (chunk) => {
        const frames = this.#frames.push(chunk);
        return frames === null || this.#pass(frames);
      },
      () => this.#ended,
      drain,
    );
    if (this.#ended) return;
    const rest = this.#frames.rest();
    // The last frame may lack its blank line. Half a frame is of no use to a client.
    if (isWhole(dataIn(rest.toString()))) this.#pass(Buffer.concat([rest, Buffer.from('\n\n')]));
    if (!this.#ended) this.#end();
  }

  /** Ends the stream with a failure. */
  fail(failure: Failure): void {
    if (this.#ended) return;
    this.#ended = true;
    const { clean, dialect, context } = this.#options;
    this.failure = clean(failure);
    if (!this.committed) return;
    this.end = `${this.#tail}${dialect.failFrames(this.failure, {
      context,
      first: this.#first,
      last: this.#last.toString(),
    })}`;
  }

  #end(): void {
    if (!this.#finished) {
      this.fail(truncatedAnswer());
      return;
    }
    this.#ended = true;
    const { endMarker } = this.#options.dialect;
    if (endMarker === undefined) return;
    this.end = this.#withHeld(this.#afterTail(`data: ${endMarker}\n\n`)).toString();
  }

  #pass(frames: Buffer): boolean {
    // Bytes as characters, since what is looked for is ASCII: searching bytes for a text takes 1 µs each.
    const received = frames.toString('latin1');
    const { context, dialect, tracker } = this.#options;
    tracker.addFrames(dialect.countOutput(received));
    this.#hasOutput ||= dialect.hasOutput(received);
    this.#hasChoice ||= this.#choice.test(received);
    const renamed = this.#chunks?.rename(received) ?? received;
    const { emptyUsage } = dialect;
    const isUnasked = emptyUsage !== undefined && !context.request.includeUsage;
    const bytes = isUnasked ? renamed.replace(emptyUsage, '') : renamed;
    const named = bytes === received ? frames : Buffer.from(bytes, 'latin1');
    if (!this.#hasMarker(bytes) && !NO_OBJECT.test(bytes))
      return this.#write(this.#tail === '' ? named : this.#afterTail(named.toString()));
    let passed = '';
    for (const frame of named.toString().split(BLANK_LINE)) {
      if (frame === '') continue;
      const next = this.#observe(frame);
      if (next instanceof Failure) {
        // Where no frame was passed on, another route may still answer.
        if (this.committed && passed !== '') this.#write(passed);
        this.fail(next);
        return true;
      }
      if (next !== '') passed += this.#afterTail(next);
      if (this.#ended) break;
    }
    if (this.#ended) {
      this.end = this.#withHeld(this.#afterTail(passed)).toString();
      return true;
    }
    return passed === '' || this.#write(passed);
  }

  /** Frames with the usage before them, which turned out not to be the last. */
  #afterTail(frames: string): string {
    const all = this.#tail + frames;
    this.#tail = '';
    return all;
  }

  #hasMarker(bytes: string): boolean {
    return this.#options.dialect.markers.some((marker) =>
      typeof marker === 'string' ? bytes.includes(marker) : marker.test(bytes),
    );
  }

  #write(frames: Buffer | string): boolean {
    if (!this.committed) {
      if (!this.#hasOutput && this.#hold(frames)) return true;
      frames = this.#withHeld(frames);
      this.committed = true;
    }
    this.#last = frames;
    return this.#options.response.write(frames);
  }

  /** Keeps frames back; comments are dropped, since clients get those of this server. @returns false for too many */
  #hold(frames: Buffer | string): boolean {
    if (!DATA_LINE.test(frames.toString('latin1'))) return true;
    const bytes = Buffer.from(frames);
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    return this.#heldBytes <= MAX_HELD_BYTES;
  }

  /** The frames that were kept back, and further ones. */
  #withHeld(frames: Buffer | string): Buffer | string {
    if (this.#held.length === 0) return frames;
    const all = Buffer.concat([...this.#held, Buffer.from(frames)]);
    this.#held = [];
    return all;
  }

  /** Returns the frame as it is passed on, or the failure that it reports. */
  #observe(frame: string): string | Failure {
    const { dialect, model, trace, onAnswer } = this.#options;
    const data = dataIn(frame).trimEnd();
    const whole = `${frame}\n\n`;
    if (data === dialect.endMarker) {
      if (!this.#hasChoice) return invalidAnswer(`an answer without ${dialect.answerKey}`);
      // An answer may end without a finish reason.
      this.#finished = true;
      this.#ended = true;
      return whole;
    }
    // Some upstreams of dialects without an end marker send chat's.
    if (data === DONE) return '';
    if (data === '') return whole;
    const event = tryParseJson(data);
    if (!isObject(event)) return invalidAnswer('an event that is no JSON object');
    this.#first ??= event;
    if (trace !== null) {
      const replaced = this.#chunks?.replaced ?? null;
      if (replaced !== null) trace.named(nonEmptyTextOf(tryParseJson(replaced)));
      recordAnswer(trace, dialect, event);
    }
    const renamed = model !== null && renameModel(event, dialect.modelPaths, model);
    const seen = dialect.observe(event, this.#usage);
    const { response } = event;
    if (seen.terminal && isObject(response)) onAnswer(response);
    return this.#apply(renamed ? { rewritten: event, ...seen } : seen, whole);
  }

  #apply(seen: Observation, whole: string): string | Failure {
    const { dialect, context, tracker } = this.#options;
    if (seen.failure) return seen.failure;
    if (seen.usage) {
      this.#usage = seen.usage;
      tracker.reportUsage(seen.usage);
    }
    if (seen.terminal) {
      this.#open -= 1;
      if (this.#open === 0) {
        tracker.finishAnswer();
        this.#finished = true;
      }
      if (dialect.endMarker === undefined) this.#ended = true;
    }
    if (seen.usageOnly && !context.request.includeUsage) return '';
    const sent = seen.rewritten ? rewrittenFrame(whole, seen.rewritten) : whole;
    if (!seen.usageOnly) return sent;
    this.#tail += sent;
    return '';
  }
}

/** A frame with other data. */
export function rewrittenFrame(frame: string, event: Json): string {
  const lines = frame.split(END_OF_LINE);
  const others = lines.filter((line) => line !== '' && !line.startsWith('data:'));
  return `${[...others, `data: ${JSON.stringify(event)}`].join('\n')}\n\n`;
}

/** The data of one frame; empty where it has none. */
export function dataIn(frame: string): string {
  let data = '';
  dataOf(`${frame}\n\n`, (found) => {
    data = found;
  });
  return data;
}

/** Records for a trace which model an event or a whole answer names, and why the answer ended. */
export function recordAnswer(trace: Trace, dialect: Dialect, body: Json): void {
  for (const path of dialect.modelPaths) {
    const own = path.length === 1 ? body : objectOf(body[path[0]!]);
    trace.named(nonEmptyTextOf(own[path.at(-1)!]));
  }
  for (const reason of dialect.finishReasons(body)) trace.finished(reason);
}
