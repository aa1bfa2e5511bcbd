import { isObject } from '../../../schema/untrusted.ts';
import type { ImageWork } from '../../work.ts';
import { formOf, type Part, type Sent } from '../multipart.ts';
import { imagesOf } from '../products.ts';
import type { Order, Production, Workshop } from '../provider.ts';
import { jsonOf, withRemote } from '../remote.ts';
import { charged } from '../unusable.ts';
import { wishesOf } from '../wishes.ts';

/** Bytes of an answer for each image, as base64: a PNG of 3840x2160 can have 33 million. */
const MOST_BYTES = 48 * 1024 * 1024;

/** Makes images in one request; with inputs, they are what is to be changed or looked at. */
export function makeImages(order: Order<ImageWork>, workshop: Workshop): Promise<Production> {
  return withRemote(workshop, async (remote) => {
    const { n } = order.work;
    const changes = order.inputs.length > 0;
    const { body } = await remote.sendForJson({
      path: changes ? '/images/edits' : '/images/generations',
      sent: changes ? formOf(editOf(order, workshop.model)) : generationOf(order, workshop.model),
      // No more than a string can have characters, for all ten.
      most: n * MOST_BYTES,
      charges: true,
    });
    if (isObject(body['error'])) throw remote.told(null, body);
    try {
      return imagesOf(body, { most: n, secret: remote.settings.apiKey });
    } catch (error) {
      throw charged(error);
    }
  });
}

function generationOf({ work }: Order<ImageWork>, model: string): Sent {
  return jsonOf({ model, prompt: work.prompt, ...wishesOf(work) });
}

/** The parts of a form by which images are edited. */
function editOf({ work, inputs, mask }: Order<ImageWork>, model: string): readonly Part[] {
  const wishes = Object.entries(wishesOf(work));
  return [
    ['model', model],
    ['prompt', work.prompt],
    ...wishes.map(([name, value]): Part => [name, String(value)]),
    ...inputs.map((input): Part => [inputs.length > 1 ? 'image[]' : 'image', input]),
    ...(mask === null ? [] : [['mask', mask] as const]),
  ];
}
