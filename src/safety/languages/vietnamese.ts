import type { Language } from '../terms.ts';

export const VIETNAMESE: Language = {
  code: 'vi',
  terms: {
    neutral:
      'chân trần, mắt trần, tay trần, mắt thường, cây trần trụi, đầu trần, ức gà, ' +
      'ung thư vú, giáo dục giới tính, đồng giới, cùng giới tính, son nude, màu nude, ' +
      'tông nude, chuột chũi trụi lông, sự thật trần trụi, phụ nữ trẻ, phòng chống xâm hại, ' +
      'chống xâm hại tình dục, em bé cười',
    minor:
      'trẻ em, đứa trẻ, trẻ con, trẻ nhỏ, em bé, bé gái, bé trai, trẻ vị thành niên, ' +
      'vị thành niên, trẻ sơ sinh, học sinh tiểu học, học sinh cấp, nữ sinh tiểu học, cô bé, ' +
      'cậu bé, thiếu nhi, bọn trẻ, nhi đồng, mẫu giáo',
    youth:
      'thiếu nữ, cô gái nhỏ, nữ sinh, nam sinh, thiếu niên, học sinh, con gái nhỏ, ' +
      'con trai nhỏ, chàng trai nhỏ, con gái, con trai, cô gái',
    girl: 'bé gái, cô bé, con gái, cô gái, nữ sinh, thiếu nữ',
    grown: 'người lớn, trưởng thành, đủ tuổi',
    adult: 'phụ nữ, đàn ông, người mẹ, người cha, cô giáo, thầy giáo, cặp đôi, bác sĩ',
    pronoun: 'cô ấy, anh ấy, ~nó, ~họ',
    private: 'bộ phận sinh dục, dương vật, âm đạo, vùng kín, chỗ kín, âm hộ',
    area: 'bầu ngực, ~vú, ~mông, núm vú, ~đùi, khe ngực',
    soft: '~ngực, đồ lót, quần lót, áo lót, nội y, ~bụng',
    exposure: '~lộ, ~hở, để trần, ~trần, phơi bày, trong suốt, ~khoe, nhìn thấy',
    emphasis: 'cận cảnh, nhấn mạnh, tập trung vào, bó sát',
    nudity:
      'khỏa thân, khoả thân, trần truồng, lõa thể, loã thể, ở truồng, không mặc quần áo, ' +
      'không mặc gì, không quần áo, bán khỏa thân, cởi truồng, cởi đồ',
    suggestive:
      'khiêu dâm, gợi dục, gợi tình, khêu gợi, gợi cảm, dâm đãng, dâm ô, chỉ mặc đồ lót, ' +
      'mặc đồ lót, mặc nội y',
    sexual:
      'tình dục, làm tình, giao cấu, quan hệ tình dục, thủ dâm, hiếp dâm, cưỡng hiếp, ' +
      'loạn luân, phim khiêu dâm',
    negation: 'không, không có, chẳng, ~tránh, ~cấm',
    filler: '~có, cảnh, nội dung, yếu tố, ~và, hình ảnh, bất kỳ',
    either: 'hoặc, ~hay',
    medical:
      'bác sĩ, bệnh viện, phòng khám, ống nghe, vắc xin, tiêm chủng, y tá, phẫu thuật, ' + '~khám',
    care: 'cho con bú, bú mẹ, ~tã, ~bỉm, phát ban, sữa mẹ',
    newborn: 'sơ sinh, em bé',
    birth: 'chào đời, sinh con, hộ sinh',
    art:
      '~tượng, bức tượng, điêu khắc, tranh sơn dầu, cẩm thạch, ~đồng, bích họa, bảo tàng, ' +
      'bức tranh',
    lesson: 'sơ đồ, sách giáo khoa, sinh học, áp phích',
    activity: '~bơi, hồ bơi, bãi biển, ~biển, ~hồ, ~sông, thể dục, ba lê, ~võ',
    apart: '~và, trong khi, bên cạnh, ~nhìn, ~ngắm, ~vẽ, ~trước',
    evidence: 'một, của, những, đang, trên, trong, không, người, với',
  },
};
