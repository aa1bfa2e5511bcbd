import type { Language } from '../terms.ts';

export const INDONESIAN: Language = {
  code: 'id',
  terms: {
    neutral:
      'mata telanjang, kaki telanjang, bertelanjang kaki, telanjang kaki, tangan telanjang, ' +
      'pohon telanjang, tikus mondok telanjang, dada ayam, kanker payudara, pendidikan seks, ' +
      'pendidikan seksual, sesama jenis, anak anjing, anak kucing, anak tangga, anak panah, ' +
      'anak sungai, anak ayam, anak sapi, warna nude, lipstik nude, wanita muda, pria muda, ' +
      'pasangan muda, melawan kekerasan seksual, susu bayi',
    minor:
      '~anak, anak anak, anak kecil, balita, bayi, bocah, di bawah umur, dibawah umur, ' +
      'murid sd, siswa sd, siswi sd, siswa smp, siswi smp, kanak kanak, anak perempuan, ' +
      'anak laki laki, gadis kecil',
    youth:
      '~gadis, remaja, siswi, ~siswa, pelajar, ~abg, bayi baru lahir, cucu, putri kecil, ' +
      'perawan',
    girl: '~gadis, perempuan, siswi',
    grown: 'dewasa',
    adult: 'wanita, perempuan dewasa, pria, ~ibu, ~ayah, guru, pasangan, kakek, nenek, dokter',
    pronoun: '~dia, ~mereka, ~ia',
    private: 'alat kelamin, kemaluan, ~penis, vagina, alat vital',
    area: 'payudara, pantat, bokong, ~paha, puting, belahan dada, selangkangan',
    soft: '~dada, pakaian dalam, celana dalam, ~perut, ~bh',
    exposure: 'telanjang, terbuka, terekspos, tersingkap, transparan, terlihat, memperlihatkan',
    emphasis: 'close up, jarak dekat, menonjolkan, fokus pada, ketat, ~besar, penekanan',
    nudity:
      'telanjang*, bugil, ketelanjangan, tanpa busana, tanpa pakaian, tanpa baju, ' +
      'setengah telanjang, telanjang dada perempuan',
    suggestive: 'erotis*, sensual*, seksi, menggoda, mesum, cabul, merangsang, berpakaian dalam',
    sexual:
      '~seks, seksual*, porno*, bersetubuh, persetubuhan, masturbasi, perkosa*, pemerkosaan, ' +
      'bercinta, ngentot, bokep',
    negation: 'tanpa, tidak, bukan, jangan, ~tak',
    filler: '~ada, adegan, konten, unsur, ~dan, apa pun',
    either: 'atau, maupun',
    medical:
      'dokter, rumah sakit, klinik, stetoskop, vaksin*, imunisasi, perawat, operasi, ' +
      'periksa, memeriksa',
    care: 'menyusui, popok, ruam, ~asi',
    newborn: 'bayi',
    birth: 'kelahiran, persalinan, bidan',
    art: 'patung*, lukisan*, marmer, perunggu, museum, relief',
    lesson: 'diagram, buku pelajaran, biologi, poster',
    activity: 'renang, berenang, kolam, pantai, laut, danau, sungai, senam, balet, silat',
    apart: 'dan, sementara, di samping, melihat, di depan, menggambar',
    evidence:
      '~di, yang, dengan, ~dan, sebuah, seorang, bermain, ~pada, untuk, ~dari, berusia, ' +
      'tahun, tanpa, atas',
  },
};
