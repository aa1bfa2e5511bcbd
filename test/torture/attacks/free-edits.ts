import { png } from '../../media/media-files.ts';
import { form } from '../client.ts';
import { type Attack, OVERLOAD_STATUSES, together } from './attack.ts';

const EDITS = 60;

export const freeEdits: Attack = {
  name: 'free edits',
  summary: `${EDITS} free edits of images of nine megapixels`,
  async run(attacker) {
    const image = png(3000, 3000, 3);
    await together(EDITS, 20, async (index) => {
      const parts = [
        { name: 'model', value: 'free-image' },
        { name: 'prompt', value: `a wall ${index}` },
        { name: 'size', value: '64x64' },
        { name: 'image', value: image, filename: 'a.png', type: 'image/png' },
      ];
      const path = '/v1/images/edits';
      await attacker.ask({ method: 'POST', path, key: attacker.context.freeKey, ...form(parts) }, [
        200,
        202,
        ...OVERLOAD_STATUSES,
      ]);
    });
  },
};
