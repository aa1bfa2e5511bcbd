import { Failure } from '../../failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import type { UsageTracker } from '../billing/usage-tracker.ts';
import type { Json, Usage } from '../canonical.ts';
import { truncatedAnswer } from '../dialects/answer-errors.ts';
import type { Dialect, EncodeContext, Observation } from '../dialects/dialect.ts';
import { ChunkRenamer, renameModel } from './model-name.ts';
import type { ResponseStream } from './response-stream.ts';
import { dataOf, FrameStream, isWhole } from './sse.ts';
import { readUntil } from './upstream-response.ts';

/** How chat says that nothing more comes; the other dialects have an event for that. */
const DONE = '[DONE]';

const END_OF_LINE = /\r\n|\n|\r/;

/** What ends a frame: a blank line, however the lines before and after it end. */
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n)){2}/;

interface RelayOptions {
  readonly dialect: Dialect;
  readonly context: EncodeContext;
  /** The model that answers name; null for the upstream's own name. */
  readonly model: string | null;
  readonly response: ResponseStream;
  readonly tracker: UsageTracker;
  /** Called with the whole answer where the stream's last event has it. */
  readonly answered: (answer: Json) => void;
  /** A failure without what no client may know. */
  readonly clean: (failure: Failure) => Failure;
}

/**
 * Passes a stream on to a client of the upstream's own dialect: whole frames, as they came but for the
 * model's name, as soon as they are there. Only those with usage, an end, a failure or, outside chat,
 * the model are parsed. Those that end the stream are kept, to be sent once the answer is charged.
 */
export class Relay {
  /** What went wrong, once something has. */
  failure: Failure | null = null;
  /** Frames that end the stream. */
  end = '';
  readonly #dialect: Dialect;
  readonly #context: EncodeContext;
  readonly #model: string | null;
  readonly #chunks: ChunkRenamer | null;
  readonly #response: ResponseStream;
  readonly #tracker: UsageTracker;
  readonly #answered: (answer: Json) => void;
  readonly #clean: (failure: Failure) => Failure;
  /** Answers of which the end has not been seen. */
  #open: number;
  readonly #frames = new FrameStream();
  /** Nothing that matters can come any more. */
  #ended = false;
  /** The model has said all. */
  #finished = false;
  #committed = false;
  /** The last frame that was passed on, for what must go on counting after it. */
  #last: Buffer | string = '';
  /** The first event that was looked at: it tells whose answer this is. */
  #first: Json | null = null;
  /** What the stream told of it so far. */
  #usage: Usage | null = null;

  constructor({ dialect, context, model, response, tracker, answered, clean }: RelayOptions) {
    this.#dialect = dialect;
    this.#context = context;
    this.#model = model;
    this.#chunks = model !== null && dialect.name === 'chat' ? new ChunkRenamer(model) : null;
    this.#response = response;
    this.#tracker = tracker;
    this.#answered = answered;
    this.#clean = clean;
    this.#open = context.request.n ?? 1;
  }

  get committed(): boolean {
    return this.#committed;
  }

  async run(exchange: UpstreamResponse): Promise<void> {
    await readUntil(
      exchange,
      this.#response,
      (chunk) => {
        const frames = this.#frames.push(chunk);
        return frames === null || this.#pass(frames);
      },
      () => this.#ended,
    );
    if (this.#ended) return;
    const rest = this.#frames.rest();
    // The last frame may lack its blank line. Of half a frame nobody could make anything.
    if (isWhole(dataIn(rest.toString()))) this.#pass(Buffer.concat([rest, Buffer.from('\n\n')]));
    if (!this.#ended) this.#end();
  }

  /** The stream is over, or cannot go on. */
  fail(failure: Failure): void {
    if (this.#ended) return;
    this.#ended = true;
    this.failure = this.#clean(failure);
    if (!this.#committed) return;
    this.end = this.#dialect.failFrames(this.failure, {
      context: this.#context,
      first: this.#first,
      last: this.#last.toString(),
    });
  }

  #end(): void {
    if (!this.#finished) {
      this.fail(truncatedAnswer());
      return;
    }
    this.#ended = true;
    if (this.#dialect.name === 'chat') this.end = `data: ${DONE}\n\n`;
  }

  #pass(frames: Buffer): boolean {
    // Bytes as characters, since what is looked for is ASCII: searching bytes for a text takes 1 µs each.
    const received = frames.toString('latin1');
    this.#tracker.frames(this.#dialect.countOutput(received));
    const bytes = this.#chunks?.rename(received) ?? received;
    const named = bytes === received ? frames : Buffer.from(bytes, 'latin1');
    if (!this.#tells(bytes)) return this.#write(named);
    let passed = '';
    for (const frame of named.toString().split(BLANK_LINE)) {
      if (frame === '') continue;
      const next = this.#look(frame);
      if (next instanceof Failure) {
        // What has not been told may yet come well from elsewhere.
        if (this.#committed && passed !== '') this.#write(passed);
        this.fail(next);
        return true;
      }
      passed += next;
      if (this.#ended) break;
    }
    if (this.#ended) {
      this.end = passed;
      return true;
    }
    return passed === '' || this.#write(passed);
  }

  #tells(bytes: string): boolean {
    for (const marker of this.#dialect.markers) if (bytes.includes(marker)) return true;
    return this.#dialect.name === 'chat' && bytes.includes(DONE);
  }

  #write(frames: Buffer | string): boolean {
    this.#committed = true;
    this.#last = frames;
    return this.#response.write(frames);
  }

  /** The frame as it is to be passed on, or what it says went wrong. */
  #look(frame: string): string | Failure {
    const data = dataIn(frame);
    const whole = `${frame}\n\n`;
    if (data === DONE) {
      // Only chat ends so; elsewhere it says nothing.
      if (this.#dialect.name !== 'chat') return '';
      // Without a reason why it finished there is at least the word that it did.
      this.#finished = true;
      this.#ended = true;
      return whole;
    }
    const event = data === '' ? undefined : tryParseJson(data);
    if (typeof event !== 'object' || event === null) return whole;
    this.#first ??= event as Json;
    const renamed = this.#model !== null && renameModel(event as Json, this.#model);
    const seen = this.#dialect.observe(event as Json, this.#usage);
    const { response } = event as Json;
    if (seen.terminal && isObject(response)) this.#answered(response);
    return this.#apply(renamed ? { rewritten: event as Json, ...seen } : seen, whole);
  }

  #apply(seen: Observation, whole: string): string | Failure {
    if (seen.failure) return seen.failure;
    if (seen.usage) {
      this.#usage = seen.usage;
      this.#tracker.usage(seen.usage);
    }
    if (seen.terminal) {
      this.#open -= 1;
      if (this.#open === 0) {
        this.#tracker.finish();
        this.#finished = true;
      }
      if (this.#dialect.name !== 'chat') this.#ended = true;
    }
    if (seen.usageOnly && !this.#context.request.includeUsage) return '';
    if (!seen.rewritten) return whole;
    const lines = whole.split(END_OF_LINE);
    const others = lines.filter((line) => line !== '' && !line.startsWith('data:'));
    return `${[...others, `data: ${JSON.stringify(seen.rewritten)}`].join('\n')}\n\n`;
  }
}

/** The data of one frame; empty where it has none. */
function dataIn(frame: string): string {
  let data = '';
  dataOf(`${frame}\n\n`, (found) => {
    data = found;
  });
  return data;
}
