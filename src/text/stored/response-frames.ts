import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { Json } from '../canonical/canonical.ts';
import { BLANK_LINE, dataIn, rewrittenFrame } from '../relay/relay.ts';

/** Events of a stream that have the whole response. */
const WITH_RESPONSE = /"response\.(?:created|queued|in_progress|completed|incomplete|failed)"/;

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
