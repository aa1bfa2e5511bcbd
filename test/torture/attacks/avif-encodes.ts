import { png } from '../../media/media-files.ts';
import { form } from '../client.ts';
import { type Attack, together } from './attack.ts';

/** Share of the time of a hanging request in which a batch beyond the deadline must be refused, or completed. */
const SHARE_OF_HANGING = 2 / 3;

export const avifEncodes: Attack = {
  name: 'expensive AVIF encodes',
  summary: 'four AVIF encodes of 49 megapixels at effort 9',
  async run(attacker) {
    const image = png(7000, 7000, 5);
    const bound = attacker.context.hangTimeout * SHARE_OF_HANGING;
    await together(4, 4, async () => {
      const parts = [
        { name: 'format', value: 'avif' },
        { name: 'effort', value: '9' },
        { name: 'files', value: image, filename: 'a.png', type: 'image/png' },
      ];
      const path = '/api/free/batch-convert-images';
      const started = performance.now();
      await attacker.ask({
        method: 'POST',
        path,
        key: attacker.key,
        timeout: 180_000,
        ...form(parts),
      });
      const elapsed = Math.round(performance.now() - started);
      attacker.expect(elapsed < bound, `work beyond the deadline was refused after ${elapsed} ms`);
    });
  },
};
