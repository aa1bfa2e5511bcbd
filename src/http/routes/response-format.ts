import * as v from 'valibot';
import { checkFields, type Fields } from '../../media/requests/fields.ts';
import { field } from '../../schema/fields.ts';

const RESPONSE_FORMATS = ['url', 'b64_json'] as const;

/** How images come back to those who wait for them. */
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number];

/** What endpoints that wait for images take beside what is asked of the model. */
export const waitingFields = {
  response_format: v.nullish(
    field(
      v.picklist(RESPONSE_FORMATS),
      'whether images come as addresses, which is usual, or inside the answer',
    ),
  ),
};
const waiting = v.strictObject(waitingFields);

/**
 * Parts how images are to come back from what is asked of the model.
 *
 * @throws Failure invalid_request
 */
export function formatOf({
  response_format: given = null,
  ...asked
}: Fields): readonly [ResponseFormat, Fields] {
  const { response_format: format } = checkFields(waiting, { response_format: given });
  return [format ?? 'url', asked];
}
