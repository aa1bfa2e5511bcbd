/** Splits a byte stream into server-sent events, wherever it is cut. */
export class EventStream {
  constructor(_onEvent: (data: string, event: string) => void, _limit = 32 * 1024 * 1024) {}

  /** @throws Failure `service_error` with code `upstream_answer_too_large` */
  push(_chunk: Buffer): void {}

  /** The bytes are over. */
  end(): void {}
}

/** Splits a byte stream into whole frames that are relayed as they are. */
export class FrameStream {
  /** The bytes up to and including the last blank line so far; null where none ended yet. */
  push(_chunk: Buffer): Buffer | null {
    return null;
  }

  /** What came after the last blank line. */
  rest(): Buffer {
    return Buffer.alloc(0);
  }
}

/** Tells the data of each frame in a run of whole frames. */
export function dataOf(_frames: Buffer, _onData: (data: string, event: string) => void): void {}
