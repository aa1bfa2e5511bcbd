import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { Json } from '../canonical/canonical.ts';
import { BLANK_LINE, dataIn, rewrittenFrame } from '../relay/relay.ts';
import type { StoredResponse } from './history.ts';

/** What is kept with an answer of responses. */
export interface Keeping extends Pick<StoredResponse, 'previous' | 'conversation'> {
  /** The items of the request itself. */
  readonly own: readonly Json[];
  /** Whether the store keeps it. */
  readonly isStored: boolean;
}

/** Events of a stream that have the whole response. */
const WITH_RESPONSE = /"response\.(?:created|queued|in_progress|completed|incomplete|failed)"/;

/** What responses say about how they are stored. */
export function storedHead({ isStored, previous, conversation }: Keeping): Json {
  return {
    store: isStored,
    previous_response_id: previous,
    ...(conversation !== null && { conversation: { id: conversation } }),
  };
}

/** Changes the responses in the first events of a stream. */
export function changeFirst(keeping: Keeping): (frames: string | Buffer) => string | Buffer {
  let isOver = false;
  return (frames) => {
    isOver ||= !WITH_RESPONSE.test(frames.toString());
    if (isOver) return frames;
    return withResponses(frames.toString(), (found) => ({ ...found, ...storedHead(keeping) }));
  };
}

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
