import * as v from 'valibot';
import { checkFields, type Fields } from '../../media/requests/fields.ts';
import { field } from '../../schema/fields.ts';

const RESPONSE_FORMATS = ['url', 'b64_json'] as const;

/** How the response has images: as URLs or as base64. */
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number];

/** Parameters of the endpoints that wait for images, beside those for the model. */
export const responseFormatFields = {
  response_format: v.nullish(
    field(v.picklist(RESPONSE_FORMATS), 'whether the response has images as URLs or as base64'),
  ),
};
const responseFormatSchema = v.strictObject(responseFormatFields);

/**
 * Separates the response format, null where the client chose none, from the parameters for the model.
 *
 * @throws Failure invalid_request
 */
export function formatOf({
  response_format: given = null,
  ...fields
}: Fields): readonly [ResponseFormat | null, Fields] {
  const { response_format: format } = checkFields(responseFormatSchema, { response_format: given });
  return [format ?? null, fields];
}
